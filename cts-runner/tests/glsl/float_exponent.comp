#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float -1000 1000
//! output float 1e-6
void main() {
    int exponent;
    float significand = frexp(f(0u), exponent);
    put(vec4(significand, float(exponent), ldexp(f(1u), 3), ldexp(f(2u), -5)));
}
