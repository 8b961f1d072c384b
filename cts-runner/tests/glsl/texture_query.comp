#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
//! bind textures
layout(binding = 4) uniform sampler2D map2d;
layout(binding = 5) uniform sampler3D map3d;
layout(binding = 8) uniform sampler2DArray layers;
void main() {
    // Levels are constants in each iteration: lavapipe 22.3 takes the level of a size query from one invocation of eight.
    ivec2 a = ivec2(0);
    for (int level = 0; level < 4; level++) {
        ivec2 size = textureSize(map2d, level);
        if (level == int(u(0u) & 3u)) a = size;
    }
    ivec3 b = textureSize(map3d, 0), c = textureSize(layers, 0);
    put(ivec4(a.x * 100 + a.y, b.x * 10000 + b.y * 100 + b.z, c.z, textureQueryLevels(map2d)));
}
