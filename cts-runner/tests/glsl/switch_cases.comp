#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
void main() {
    uint r = 1u;
    switch (u(0u) % 7u) {
        case 0u: r = u(1u); break;
        case 1u: r += 10u;
        case 2u: r += 100u; break;
        case 4u: { if (u(2u) > 0x80000000u) break; r = 4u; } break;
        case 5u: r = u(3u) >> 3u;
        default: r ^= 0xdeadu;
    }
    put(uvec4(r, r * 3u, 0u, 0u));
}
