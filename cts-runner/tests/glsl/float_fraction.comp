#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float -60 60
//! output float 2e-5
void main() {
    float whole;
    float part = modf(f(0u), whole);
    put(vec4(fract(f(1u)), part, whole, mod(f(2u), 3.5)));
}
