#version 450
// Computes results that depend on the size of subgroups, and results that must not: one workgroup
// whose last subgroup is not full.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_clustered : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_quad : require
layout(local_size_x_id = 0) in;
layout(set = 0, binding = 0) buffer Data { uint total; uint values[127]; uint results[]; };
layout(set = 0, binding = 1, r32f) uniform image2D stored;
layout(set = 0, binding = 2) uniform sampler2D sampled;
layout(set = 0, binding = 3, r32ui) uniform uimage2D counters;
shared uint turned[128];
const uint ROW = 24u;

void main() {
    uint n = gl_WorkGroupSize.x, i = gl_LocalInvocationIndex, at = i * ROW, lane = gl_SubgroupInvocationID;
    uint v = values[i];
    bool odd = (v & 1u) != 0u;
    results[at] = gl_SubgroupSize;
    results[at + 1u] = gl_SubgroupID;
    results[at + 2u] = lane;
    results[at + 3u] = gl_NumSubgroups;
    uvec4 ballot = subgroupBallot(odd);
    results[at + 4u] = ballot.x;
    results[at + 5u] = ballot.y;
    results[at + 6u] = ballot.z | ballot.w;
    results[at + 7u] = subgroupInclusiveAdd(v);
    results[at + 8u] = subgroupShuffle(v, v % min(gl_SubgroupSize, n - gl_SubgroupID * gl_SubgroupSize));
    results[at + 9u] = subgroupClusteredMax(v, 4);
    results[at + 10u] = gl_SubgroupEqMask.x ^ gl_SubgroupGtMask.y;
    results[at + 11u] = gl_SubgroupLtMask.x ^ gl_SubgroupLeMask.y;
    results[at + 12u] = subgroupBallotExclusiveBitCount(ballot);
    results[at + 13u] = ballot == uvec4(0) ? 99u : subgroupBallotFindMSB(ballot);
    results[at + 14u] = subgroupQuadSwapHorizontal(v);
    if (odd) {
        results[at + 15u] = subgroupBroadcastFirst(v) + (subgroupElect() ? 1000000u : 0u);
        results[at + 16u] = subgroupExclusiveMul(v % 3u + 1u);
    }
    // The following uses barriers, workgroup memory, images and atomics from chunks of any width.
    if (i == 0u) {
        imageStore(counters, ivec2(0), uvec4(0u));
    }
    turned[n - 1u - i] = v;
    imageStore(stored, ivec2(i % 16u, i / 16u), vec4(float(v)));
    memoryBarrierImage();
    barrier();
    results[at + 17u] = turned[i];
    uint other = (i * 5u + 1u) % n;
    vec2 place = (vec2(other % 16u, other / 16u) + 0.5) / vec2(16.0, 8.0);
    results[at + 18u] = uint(textureLod(sampled, place, 0.0).x);
    results[at + 19u] = uint(imageLoad(stored, ivec2(other % 16u, other / 16u)).x);
    atomicAdd(total, v);
    if (!odd) {
        imageAtomicAdd(counters, ivec2(0), v);
    }
    memoryBarrierImage();
    barrier();
    results[at + 20u] = imageLoad(counters, ivec2(0)).x;
    // The number of rounds differs between invocations: lanes leave one after the other.
    uint rounds = 0u, met = 0u;
    while (rounds < v % 7u) {
        rounds++;
        met += subgroupBallotBitCount(subgroupBallot(true));
    }
    results[at + 21u] = met;
}
