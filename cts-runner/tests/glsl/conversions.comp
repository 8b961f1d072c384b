#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float -30000 30000
void main() {
    bool b = f(0u) > f(1u);
    put(uvec4(uint(int(f(0u))), uint(abs(f(1u))), floatBitsToUint(float(int(f(2u)))), uint(b) + floatBitsToUint(float(b))));
}
