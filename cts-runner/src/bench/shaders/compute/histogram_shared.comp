#version 450
// 256 bins: atomics in shared memory, then one atomic per bin and workgroup; 4096 words each.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer In { uint x[]; };
layout(std430, binding = 1) buffer Bins { uint bins[256]; };
shared uint own[256];
void main() {
    uint lane = gl_LocalInvocationID.x, base = gl_WorkGroupID.x * 4096u;
    own[lane] = 0u;
    barrier();
    for (uint i = 0u; i < 16u; i++) atomicAdd(own[x[base + i * 256u + lane] >> 24u], 1u);
    barrier();
    if (own[lane] != 0u) atomicAdd(bins[lane], own[lane]);
}
