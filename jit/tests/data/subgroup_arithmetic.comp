#version 450
#extension GL_KHR_shader_subgroup_arithmetic : enable
#extension GL_KHR_shader_subgroup_clustered : enable
#extension GL_KHR_shader_subgroup_quad : enable
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer In { uint a[]; };
layout(set = 0, binding = 1) buffer Out { uint o[]; };
void main() {
    uint i = gl_LocalInvocationIndex;
    uint x = a[i], n = i * 32u;
    int s = int(x) - 8;
    float f = float(s);
    o[n + 0] = subgroupAdd(x);
    o[n + 1] = uint(subgroupMin(s));
    o[n + 2] = subgroupMax(x);
    o[n + 3] = subgroupXor(x);
    o[n + 4] = floatBitsToUint(subgroupAdd(f));
    o[n + 5] = floatBitsToUint(subgroupMul(vec2(f, 2.0)).y);
    o[n + 6] = subgroupInclusiveAdd(x);
    o[n + 7] = subgroupExclusiveAdd(x);
    o[n + 8] = uint(subgroupInclusiveMax(s));
    o[n + 9] = uint(subgroupExclusiveMax(s));
    o[n + 10] = floatBitsToUint(subgroupExclusiveAdd(f));
    o[n + 11] = floatBitsToUint(subgroupExclusiveMin(f));
    o[n + 12] = subgroupClusteredAdd(x, 4u);
    o[n + 13] = subgroupClusteredOr(x, 2u);
    o[n + 14] = uint(subgroupAnd(x > 2u)) + 2u * uint(subgroupOr(x > 14u)) + 4u * uint(subgroupXor(x > 7u));
    o[n + 15] = uint(subgroupExclusiveAnd(x > 2u));
    // Only odd values take part; the others count as nothing.
    if ((x & 1u) == 1u) {
        o[n + 16] = subgroupAdd(x);
        o[n + 17] = subgroupExclusiveMul(x);
        o[n + 18] = subgroupMin(x);
        o[n + 19] = subgroupInclusiveAnd(x);
        o[n + 20] = subgroupAdd(1u);
        o[n + 21] = subgroupClusteredAdd(1u, 4u);
    }
    o[n + 22] = subgroupQuadBroadcast(x, 2u);
}
