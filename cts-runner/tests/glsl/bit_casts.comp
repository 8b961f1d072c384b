#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
void main() {
    float x = uintBitsToFloat((u(0u) & 0x7fffffu) | 0x3f800000u);
    int exponent = (floatBitsToInt(x * 4.0) >> 23) & 255;
    put(uvec4(floatBitsToUint(x), uint(exponent), floatBitsToUint(-x), floatBitsToUint(abs(-x)) ^ u(1u)));
}
