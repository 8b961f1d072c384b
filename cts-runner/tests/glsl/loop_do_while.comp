#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
void main() {
    uint x = u(0u), n = 0u;
    do {
        x = x * 1664525u + 1013904223u;
        if ((x >> 28u) == 3u) { x ^= 0xffu; }
        ++n;
    } while ((x >> 29u) != 0u && n < 50u);
    put(uvec4(x, n, x / (n + 1u), 1u));
}
