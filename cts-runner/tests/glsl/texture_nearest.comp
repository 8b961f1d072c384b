#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float -0.4 1.4
//! output float 5e-3
//! outliers 0.01
//! bind textures
layout(binding = 4) uniform sampler2D map2d;
layout(binding = 3) uniform sampler1D map1d;
void main() { put(texelFetch(map2d, ivec2(v().xy * 20.0) & 15, 0) + texelFetch(map1d, int(f(2u) * 20.0) & 15, 1 - 1)); }
