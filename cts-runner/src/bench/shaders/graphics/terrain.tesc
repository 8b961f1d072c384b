#version 450
#extension GL_GOOGLE_include_directive : require
#include "hash.glsl"
// Factors of edges, the same for both patches at an edge; the inside has the larger of opposite ones.
layout(vertices = 4) out;
layout(location = 0) in vec2 corner[];
layout(location = 0) out vec2 corner_out[];
float factor(uint a, uint b) {
    uvec2 from = uvec2(corner[a]), to = uvec2(corner[b]);
    return float(8u << (hash(from.x + from.y * 1024u + (to.x > from.x ? 0x100000u : 0u)) & 3u));
}
void main() {
    corner_out[gl_InvocationID] = corner[gl_InvocationID];
    if (gl_InvocationID == 0) {
        float left = factor(0, 2), top = factor(0, 1), right = factor(1, 3), bottom = factor(2, 3);
        gl_TessLevelOuter[0] = left;
        gl_TessLevelOuter[1] = top;
        gl_TessLevelOuter[2] = right;
        gl_TessLevelOuter[3] = bottom;
        gl_TessLevelInner[0] = max(top, bottom);
        gl_TessLevelInner[1] = max(left, right);
    }
}
