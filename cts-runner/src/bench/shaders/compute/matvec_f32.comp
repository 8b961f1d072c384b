#version 450
// y = W x, a workgroup per row: f32 weights.
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer W { float w[]; };
layout(std430, binding = 1) readonly buffer X { float x[]; };
layout(std430, binding = 2) writeonly buffer Y { float y[]; };
layout(push_constant) uniform Push { uint n; };
shared float parts[64];
void main() {
    uint row = gl_WorkGroupID.x, lane = gl_LocalInvocationID.x;
    float sum = 0.0;
    for (uint i = lane; i < n; i += 64u) sum += w[row * n + i] * x[i];
    parts[lane] = sum;
    barrier();
    for (uint half_width = 32u; half_width > 0u; half_width >>= 1u) {
        if (lane < half_width) parts[lane] += parts[lane + half_width];
        barrier();
    }
    if (lane == 0u) y[row] = parts[0];
}
