#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float -2 1
//! outliers 0.02
void main() {
    vec2 c = vec2(f(0u), f(1u) * 0.6), z = vec2(0.0);
    uint n = 0u;
    for (; n < 60u; ++n) {
        z = vec2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c;
        if (dot(z, z) > 4.0) break;
    }
    put(uvec4(n, n & 1u, n / 10u, 2u));
}
