#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float -3.14 3.14
//! output float 2e-3
void main() { put(vec4(sin(f(0u)), cos(f(1u)), tan(f(2u) * 0.4), sin(f(3u)) * cos(f(3u)))); }
