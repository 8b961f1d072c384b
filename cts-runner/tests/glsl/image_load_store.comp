#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float 0 1
//! output float 5e-3
//! bind images
layout(binding = 14, rgba8) uniform image2D colors;
layout(binding = 15, r32ui) uniform uimage2D numbers;
layout(binding = 16, r32f) uniform image3D volume;
void main() {
    ivec2 p = ivec2(id() & 31u, id() >> 5u);
    imageStore(colors, p, v());
    imageStore(numbers, p, uvec4(id() * 77u));
    imageStore(volume, ivec3(p & 7, (p.x >> 3) + (p.y >> 3) * 4) & ivec3(7, 7, 7), vec4(float((p.x & 7) + (p.y & 7)) * 0.25));
    put(vec4(imageSize(colors), imageSize(volume).z, imageLoad(colors, p).w));
}
