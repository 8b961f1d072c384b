#version 450
//! api 1.1
#extension GL_KHR_shader_subgroup_arithmetic : require
// Sums of 2048 elements each, within subgroups, then across them.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer In { float x[]; };
layout(std430, binding = 1) writeonly buffer Out { float y[]; };
shared float parts[256];
void main() {
    uint lane = gl_LocalInvocationID.x, base = gl_WorkGroupID.x * 2048u;
    float sum = 0.0;
    for (uint i = 0u; i < 8u; i++) sum += x[base + i * 256u + lane];
    sum = subgroupAdd(sum);
    if (subgroupElect()) parts[gl_SubgroupID] = sum;
    barrier();
    if (lane == 0u) {
        float total = 0.0;
        for (uint i = 0u; i < gl_NumSubgroups; i++) total += parts[i];
        y[gl_WorkGroupID.x] = total;
    }
}
