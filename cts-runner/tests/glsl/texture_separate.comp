#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float 0 1
//! output float 0.03
//! bind textures
layout(binding = 12) uniform texture2D image;
layout(binding = 13) uniform sampler smp;
void main() { put(textureLod(sampler2D(image, smp), v().xy, 0.0) + texelFetch(sampler2D(image, smp), ivec2(v().zw * 15.9), 0)); }
