#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#extension GL_KHR_shader_subgroup_ballot : require
//! input uint
//! api 1.1
void main() {
    bool odd = (u(0u) & 1u) != 0u;
    uvec4 ballot = subgroupBallot(odd), everyone = subgroupBallot(true);
    uint mine = uint(subgroupBallotBitExtract(ballot, gl_SubgroupInvocationID));
    uint count = subgroupBallotBitCount(everyone);
    uint first = subgroupBroadcastFirst(gl_WorkGroupID.x * 5u);
    uint sum = subgroupBallotBitCount(ballot) + subgroupBallotBitCount(subgroupBallot(!odd));
    put(uvec4(mine, uint(count == gl_SubgroupSize), first, uint(sum == count)));
}
