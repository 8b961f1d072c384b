#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
void main() {
    mat4x3 m;
    for (int c = 0; c < 4; ++c) for (int r = 0; r < 3; ++r) m[c][r] = float(u(uint(c)) >> 20u) + float(r);
    m[u(0u) & 3u][u(1u) % 3u] = -5.0;
    put(uvec4(ivec4(m[u(2u) & 3u][0], m[3][u(3u) % 3u], m[0].y, m[2].z)));
}
