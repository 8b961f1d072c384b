#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
//! bind textures
layout(binding = 11) uniform usampler2D numbers;
void main() { put(texelFetch(numbers, ivec2(u(0u) & 15u, u(1u) & 15u), 0) + textureLod(numbers, (vec2(u(2u) & 15u, u(3u) & 15u) + 0.5) / 16.0, 0.0)); }
