#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float -10 10
//! output float 2e-4
void main() {
    float p = abs(f(1u)) + 0.01;
    put(vec4(exp(f(0u) * 0.5), exp2(f(0u)), log(p), log2(p) * 3.0));
}
