#version 450
#extension GL_EXT_nonuniform_qualifier : require
#extension GL_GOOGLE_include_directive : require
#include "hash.glsl"
// Each square of 2x2 pixels takes another texture of an array.
layout(set = 0, binding = 0) uniform sampler2D images[16];
layout(location = 0) out vec4 result;
void main() {
    uvec2 square = uvec2(gl_FragCoord.xy) / 2u;
    uint index = hash(square.x + square.y * 512u) & 15u;
    result = textureLod(images[nonuniformEXT(index)], gl_FragCoord.xy * (1.03 / 64.0), 0.0);
}
