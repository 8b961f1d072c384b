#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#extension GL_KHR_shader_subgroup_vote : require
//! input uint
//! api 1.1
void main() {
    bool all_same = subgroupAllEqual(gl_WorkGroupID.x);
    bool all_true = subgroupAll(id() < 100000u), none = subgroupAny(id() > 100000u);
    uint inside = 0u;
    if ((u(0u) & 1u) != 0u) inside = uint(subgroupAll((u(0u) & 1u) != 0u)) + uint(subgroupAny((u(0u) & 1u) == 0u)) * 2u;
    put(uvec4(uint(all_same), uint(all_true), uint(none), inside));
}
