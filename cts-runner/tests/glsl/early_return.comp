#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
uint search(uint key) {
    for (uint k = 0u; k < 4u; ++k) {
        if ((u(k) & 15u) == key) return k;
        if ((u(k) & 1023u) == 77u) return 100u + k;
    }
    return 4u;
}
void main() {
    put(uvec4(0u));
    uint r = search(u(3u) >> 28u);
    if (r == 4u) return;
    put(uvec4(r, search(3u), r * 9u, 1u));
}
