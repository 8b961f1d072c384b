#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float 0.05 0.95
//! output float 0.01
//! outliers 0.03
//! bind textures
layout(binding = 4) uniform sampler2D map2d;
layout(binding = 11) uniform usampler2D numbers;
void main() { put(textureGather(map2d, v().xy, 1) + textureGatherOffset(map2d, v().zw, ivec2(2, 1), 2) + vec4(textureGather(numbers, v().yz) & 3u)); }
