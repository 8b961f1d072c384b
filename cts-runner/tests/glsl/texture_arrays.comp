#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float 0 1
//! output float 0.05
//! outliers 0.02
//! bind textures
layout(binding = 7) uniform sampler1DArray map1d;
layout(binding = 8) uniform sampler2DArray map2d;
void main() { put(textureLod(map1d, vec2(f(0u), floor(f(1u) * 4.0)), 0.0) + textureLod(map2d, vec3(v().xy, floor(f(2u) * 4.0)), 0.0)); }
