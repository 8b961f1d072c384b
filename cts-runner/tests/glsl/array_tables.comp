#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
const uint TABLE[8] = uint[](3u, 1u, 4u, 1u, 5u, 9u, 2u, 6u);
const vec2 POINTS[3] = vec2[](vec2(0.5, 1.0), vec2(2.0, -1.0), vec2(4.0, 8.0));
void main() {
    uint k = u(0u) & 7u;
    put(uvec4(TABLE[k], TABLE[TABLE[k] & 7u], floatBitsToUint(POINTS[u(1u) % 3u].y), uint(POINTS[k % 3u].x * 8.0)));
}
