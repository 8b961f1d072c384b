#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float -1 1
//! output float 0.05
//! outliers 0.02
//! bind textures
layout(binding = 6) uniform samplerCube cube;
void main() { put(textureLod(cube, v().xyz, 0.0)); }
