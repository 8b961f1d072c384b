#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float 0.01 20
//! output float 1e-3
void main() { put(vec4(pow(f(0u), f(1u) * 0.1), sqrt(f(1u)), inversesqrt(f(2u)), degrees(radians(f(3u))))); }
