#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
void main() {
    int a = i(0u), b = i(1u), d = (i(2u) & 0xffff) + 1;
    int e = (a >> 1) / d;
    put(ivec4(a + b * 3 - (a ^ b), e, abs(a >> 3) + sign(b) * 7, clamp(a, -1000000, b | 0x40000000)));
}
