#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float -3 3
//! output float 2e-3
void main() { put(vec4(sinh(f(0u)), cosh(f(1u)), tanh(f(2u)), asinh(f(3u)) + acosh(abs(f(3u)) + 1.5) + atanh(f(0u) * 0.3))); }
