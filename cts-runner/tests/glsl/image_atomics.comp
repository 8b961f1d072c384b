#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
//! bind images
layout(binding = 15, r32ui) uniform uimage2D numbers;
void main() {
    ivec2 p = ivec2(u(0u) & 7u, u(1u) & 3u);
    imageAtomicAdd(numbers, p, u(2u) & 255u);
    imageAtomicMax(numbers, p + ivec2(8, 0), u(2u));
    imageAtomicXor(numbers, p + ivec2(16, 0), u(3u));
    put(uvec4(0u, 1u, 2u, uint(p.x)));
}
