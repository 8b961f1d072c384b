#version 450
#extension GL_KHR_shader_subgroup_basic : enable
#extension GL_KHR_shader_subgroup_vote : enable
#extension GL_KHR_shader_subgroup_ballot : enable
#extension GL_KHR_shader_subgroup_shuffle : enable
#extension GL_KHR_shader_subgroup_shuffle_relative : enable
#extension GL_KHR_shader_subgroup_quad : enable
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer In { uint a[]; };
layout(set = 0, binding = 1) buffer Out { uint o[]; };
void main() {
    uint i = gl_LocalInvocationIndex;
    uint x = a[i];
    uvec4 b = subgroupBallot((x & 1u) == 1u);
    uint n = i * 16u;
    o[n + 0] = b.x;
    o[n + 1] = subgroupBallotBitCount(b);
    o[n + 2] = subgroupBallotExclusiveBitCount(b);
    o[n + 3] = subgroupBallotInclusiveBitCount(b);
    o[n + 4] = subgroupBallotFindLSB(b) + 100u * subgroupBallotFindMSB(b);
    o[n + 5] = uint(subgroupInverseBallot(b)) + 2u * uint(subgroupBallotBitExtract(b, 3u));
    o[n + 6] = subgroupBroadcastFirst(x);
    o[n + 7] = subgroupBroadcast(x, 2u);
    o[n + 8] = subgroupShuffleXor(x, 1u);
    o[n + 9] = uint(subgroupElect()) + 2u * uint(subgroupAll(x < 1000u)) + 4u * uint(subgroupAny(x == 3u)) + 8u * uint(subgroupAllEqual(x));
    o[n + 10] = subgroupQuadSwapHorizontal(x) + 256u * subgroupQuadSwapVertical(x);
    o[n + 11] = subgroupQuadSwapDiagonal(x) + 256u * subgroupQuadBroadcast(x, 3u);
    o[n + 12] = gl_SubgroupLtMask.x + 65536u * gl_SubgroupGeMask.x;
    o[n + 13] = gl_SubgroupSize + 100u * gl_SubgroupInvocationID;
    o[n + 14] = gl_SubgroupEqMask.x + 65536u * (gl_SubgroupGtMask.x ^ gl_SubgroupLeMask.x);
    subgroupBarrier();
}
