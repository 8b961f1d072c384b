#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float -1000 1000
//! output float 0
void main() { put(vec4(floor(f(0u)), ceil(f(1u)) + trunc(f(0u)), roundEven(f(2u)), sign(f(3u)) * abs(f(2u)))); }
