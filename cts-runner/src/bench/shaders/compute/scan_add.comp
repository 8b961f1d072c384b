#version 450
// Adds the inclusive sum of all blocks before to each block of 1024.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Sums { uint sums[]; };
layout(std430, binding = 1) buffer Out { uint y[]; };
void main() {
    uint block = gl_WorkGroupID.x;
    if (block == 0u) return;
    uint before = sums[block - 1u];
    for (uint i = 0u; i < 4u; i++) y[block * 1024u + i * 256u + gl_LocalInvocationID.x] += before;
}
