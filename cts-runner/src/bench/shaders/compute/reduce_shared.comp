#version 450
// Sums of 2048 elements each, with a tree in shared memory.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer In { float x[]; };
layout(std430, binding = 1) writeonly buffer Out { float y[]; };
shared float parts[256];
void main() {
    uint lane = gl_LocalInvocationID.x, base = gl_WorkGroupID.x * 2048u;
    float sum = 0.0;
    for (uint i = 0u; i < 8u; i++) sum += x[base + i * 256u + lane];
    parts[lane] = sum;
    barrier();
    for (uint s = 128u; s > 0u; s >>= 1u) {
        if (lane < s) parts[lane] += parts[lane + s];
        barrier();
    }
    if (lane == 0u) y[gl_WorkGroupID.x] = parts[0];
}
