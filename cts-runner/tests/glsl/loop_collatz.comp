#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
void main() {
    uint n = (u(0u) & 1023u) + 1u, steps = 0u, top = n;
    while (n != 1u && steps < 400u) {
        n = (n & 1u) == 0u ? n / 2u : 3u * n + 1u;
        top = max(top, n);
        ++steps;
    }
    put(uvec4(steps, top, n, u(1u)));
}
