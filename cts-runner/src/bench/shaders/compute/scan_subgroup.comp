#version 450
//! api 1.1
#extension GL_KHR_shader_subgroup_arithmetic : require
// Inclusive sums within blocks of 1024, by subgroup scans; the total of each block goes to `totals`.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer In { uint x[]; };
layout(std430, binding = 1) writeonly buffer Out { uint y[]; };
layout(std430, binding = 2) writeonly buffer Totals { uint totals[]; };
shared uint parts[256];
void main() {
    // Consecutive elements by subgroup and lane, whatever the size of a subgroup.
    uint lane = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
    uint base = gl_WorkGroupID.x * 1024u + lane * 4u;
    uint s0 = x[base], s1 = s0 + x[base + 1u], s2 = s1 + x[base + 2u], s3 = s2 + x[base + 3u];
    uint sum = subgroupInclusiveAdd(s3);
    if (gl_SubgroupInvocationID == gl_SubgroupSize - 1u) parts[gl_SubgroupID] = sum;
    barrier();
    uint before = sum - s3;
    for (uint i = 0u; i < gl_SubgroupID; i++) before += parts[i];
    y[base] = before + s0;
    y[base + 1u] = before + s1;
    y[base + 2u] = before + s2;
    y[base + 3u] = before + s3;
    if (lane == 255u) totals[gl_WorkGroupID.x] = before + s3;
}
