#version 450
// y = W x, a workgroup per row: f16 weights, two in a word.
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer W { uint w[]; };
layout(std430, binding = 1) readonly buffer X { float x[]; };
layout(std430, binding = 2) writeonly buffer Y { float y[]; };
layout(push_constant) uniform Push { uint n; };
shared float parts[64];
void main() {
    uint row = gl_WorkGroupID.x, lane = gl_LocalInvocationID.x;
    float sum = 0.0;
    for (uint i = lane; i < n / 2u; i += 64u) {
        vec2 pair = unpackHalf2x16(w[row * (n / 2u) + i]);
        sum += pair.x * x[2u * i] + pair.y * x[2u * i + 1u];
    }
    parts[lane] = sum;
    barrier();
    for (uint half_width = 32u; half_width > 0u; half_width >>= 1u) {
        if (lane < half_width) parts[lane] += parts[lane + half_width];
        barrier();
    }
    if (lane == 0u) y[row] = parts[0];
}
