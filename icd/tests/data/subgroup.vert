#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_quad : require
// Makes a triangle over the whole target, with a colour that is computed from all vertices by
// subgroup operations.
layout(location = 0) out vec4 varying_color;
void main() {
    gl_Position = vec4(vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1) * 4.0 - 1.0, 0.0, 1.0);
    int sum = subgroupAdd(gl_VertexIndex + 1);
    uint here = subgroupBallotBitCount(subgroupBallot(true));
    int second = subgroupQuadBroadcast(gl_VertexIndex + 40, 1), last = subgroupMax(gl_VertexIndex);
    varying_color = vec4(sum, here, second, last) / 255.0;
}
