#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float -0.4 1.4
//! output float 0.03
//! bind textures
layout(binding = 3) uniform sampler1D map1d;
layout(binding = 4) uniform sampler2D map2d;
layout(binding = 5) uniform sampler3D map3d;
void main() { put(textureLod(map1d, f(0u), 0.0) + textureLod(map2d, v().xy, 0.0) * 2.0 + textureLod(map3d, v().yzw, 0.0) * 4.0); }
