#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
shared uint sums[64];
void main() {
    uint lane = gl_LocalInvocationIndex;
    sums[lane] = u(0u);
    barrier();
    for (uint step = 32u; step > 0u; step >>= 1u) {
        if (lane < step) sums[lane] += sums[lane + step];
        barrier();
    }
    put(uvec4(sums[0], lane, gl_WorkGroupID.x, gl_NumWorkGroups.x));
}
