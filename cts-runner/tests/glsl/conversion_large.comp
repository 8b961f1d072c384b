#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
//! output float 1e-6
void main() { put(vec4(float(u(0u)), float(i(1u)), float(u(2u) >> 9u), float(i(3u) >> 20) * 0.5)); }
