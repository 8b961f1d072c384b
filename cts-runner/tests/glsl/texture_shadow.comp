#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float 0 1
//! output float 0.05
//! outliers 0.03
//! bind textures
layout(binding = 10) uniform sampler2DShadow shadow;
void main() { put(vec4(textureLod(shadow, v().xyz, 0.0), textureLod(shadow, v().yzw, 0.0), textureProjLod(shadow, vec4(v().xyz, 1.0), 0.0), 0.25)); }
