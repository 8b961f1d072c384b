#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
//! bind textures
layout(binding = 4) uniform sampler2D map2d;
layout(binding = 5) uniform sampler3D map3d;
layout(binding = 8) uniform sampler2DArray layers;
void main() {
    ivec2 a = textureSize(map2d, int(u(0u) & 3u));
    ivec3 b = textureSize(map3d, 0), c = textureSize(layers, 0);
    put(ivec4(a.x * 100 + a.y, b.x * 10000 + b.y * 100 + b.z, c.z, textureQueryLevels(map2d)));
}
