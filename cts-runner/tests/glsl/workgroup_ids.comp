#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
void main() {
    put(uvec4(gl_GlobalInvocationID.x + gl_LocalInvocationID.y, gl_LocalInvocationIndex * 3u, gl_WorkGroupID.x << 4u,
        gl_WorkGroupSize.x * gl_NumWorkGroups.x + gl_WorkGroupID.z));
}
