#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float 0.1 1
//! output float 0.05
//! outliers 0.02
//! bind textures
layout(binding = 4) uniform sampler2D map2d;
layout(binding = 3) uniform sampler1D map1d;
void main() { put(textureProjLod(map2d, v().xyz + vec3(0.0, 0.0, 0.5), 0.0) + textureProjLod(map1d, v().xy + vec2(0.0, 0.5), 0.0)); }
