#version 450
// Partitions of subgroups by value, and what is joined in them; invocations 5 and 41 do not take part.
#extension GL_NV_shader_subgroup_partitioned : require
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer In { uvec2 keys[]; };
layout(set = 0, binding = 1) buffer Out { uint results[]; };
void main() {
    uint lane = gl_SubgroupInvocationID, i = gl_LocalInvocationIndex, at = i * 9u;
    if (i == 5u || i == 41u) return;
    uvec4 ballot = subgroupPartitionNV(keys[i]);
    results[at] = ballot.x;
    results[at + 1u] = ballot.y + (ballot.z | ballot.w);
    results[at + 2u] = subgroupPartitionedAddNV(lane + 1u, ballot);
    results[at + 3u] = subgroupPartitionedInclusiveMulNV(lane + 2u, ballot);
    results[at + 4u] = subgroupPartitionedExclusiveMaxNV(lane + 1u, ballot);
    results[at + 5u] = floatBitsToUint(subgroupPartitionedExclusiveAddNV(float(lane) + 0.5, ballot));
    results[at + 6u] = subgroupPartitionedAndNV(lane != 3u, ballot) ? 1u : 0u;
    // Floats: -0 is with 0, and a NaN is alone.
    float f = lane < 2u ? 0.0 : lane < 4u ? -0.0 : uintBitsToFloat(0x7fc00000u);
    results[at + 7u] = subgroupPartitionNV(f).x;
    results[at + 8u] = subgroupPartitionNV(f).y;
}
