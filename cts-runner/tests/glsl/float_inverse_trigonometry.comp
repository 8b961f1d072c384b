#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float -1 1
//! output float 2e-3
void main() { put(vec4(asin(f(0u)), acos(f(1u)), atan(f(2u) * 8.0), atan(f(3u), f(0u)))); }
