#version 450
// Square quads of a compute stage: derivatives and swaps by the invocation's place in its workgroup.
#extension GL_KHR_compute_shader_derivatives : require
#extension GL_KHR_shader_subgroup_quad : require
layout(local_size_x = 6, local_size_y = 4, local_size_z = 2) in;
layout(derivative_group_quadsKHR) in;
layout(set = 0, binding = 0) buffer Out { float results[]; };
void main() {
    uvec3 p = gl_LocalInvocationID;
    float f = float(p.x * p.x + 10u * p.y * p.y + 100u * p.z + p.x * p.y);
    uint at = gl_LocalInvocationIndex * 8u;
    results[at] = dFdxFine(f);
    results[at + 1u] = dFdyFine(f);
    results[at + 2u] = dFdxCoarse(f);
    results[at + 3u] = fwidthCoarse(f);
    results[at + 4u] = float(subgroupQuadSwapHorizontal(gl_LocalInvocationIndex));
    results[at + 5u] = float(subgroupQuadSwapVertical(gl_LocalInvocationIndex));
    results[at + 6u] = float(subgroupQuadSwapDiagonal(gl_GlobalInvocationID.x + 100u * gl_GlobalInvocationID.y));
    results[at + 7u] = float(p.x + 10u * p.y + 100u * p.z);
}
