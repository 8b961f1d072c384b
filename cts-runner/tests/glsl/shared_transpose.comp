#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float -5 5
//! output float 0
shared vec4 tile[8][9];
void main() {
    uvec2 p = uvec2(gl_LocalInvocationIndex & 7u, gl_LocalInvocationIndex >> 3u);
    tile[p.y][p.x] = v();
    memoryBarrierShared();
    barrier();
    put(tile[p.x][p.y].wzyx);
}
