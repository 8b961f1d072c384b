#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float 0 1
//! output float 0.06
//! bind textures
layout(binding = 4) uniform sampler2D map2d;
void main() {
    vec4 grad = textureGrad(map2d, v().xy, vec2(0.0625, 0.0), vec2(0.0, 0.0625)) - textureLod(map2d, v().xy, 0.0);
    put(textureLod(map2d, v().zw, f(0u) * 4.0) + grad + textureLodOffset(map2d, v().xy, 1.0, ivec2(1, -2)));
}
