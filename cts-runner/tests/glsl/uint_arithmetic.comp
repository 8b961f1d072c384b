#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
void main() {
    uint a = u(0u), b = u(1u), d = u(2u) | 1u;
    put(uvec4(a * b + d, a / d, a % (d >> 12u | 1u), min(a, b) ^ max(b, d)));
}
