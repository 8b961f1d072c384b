#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
//! output float 5e-3
//! bind texels
layout(binding = 17) uniform samplerBuffer colors;
layout(binding = 18, r32ui) uniform uimageBuffer numbers;
void main() {
    imageStore(numbers, int(id()), uvec4(id() ^ 0x55u));
    put(texelFetch(colors, int(u(0u) & 1023u)) + vec4(textureSize(colors), imageSize(numbers), 0.0, 1.0));
}
