#version 450
//! api 1.1
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
// y = W x, a workgroup per row: blocks of 32 8-bit weights after their f16 scale, in storage of their own width (Q8_0 as it lies in files).
layout(local_size_x = 64) in;
struct Block { float16_t scale; int8_t q[32]; };
layout(std430, binding = 0) readonly buffer W { Block w[]; };
layout(std430, binding = 1) readonly buffer X { float x[]; };
layout(std430, binding = 2) writeonly buffer Y { float y[]; };
layout(push_constant) uniform Push { uint n; };
shared float parts[64];
void main() {
    uint row = gl_WorkGroupID.x, lane = gl_LocalInvocationID.x, blocks = n / 32u;
    float sum = 0.0;
    for (uint i = lane; i < n / 4u; i += 64u) {
        uint block = row * blocks + i / 8u, first = (i & 7u) * 4u;
        float part = 0.0;
        for (uint k = 0u; k < 4u; k++) part += float(int(w[block].q[first + k])) * x[4u * i + k];
        sum += float(w[block].scale) * part;
    }
    parts[lane] = sum;
    barrier();
    for (uint half_width = 32u; half_width > 0u; half_width >>= 1u) {
        if (lane < half_width) parts[lane] += parts[lane + half_width];
        barrier();
    }
    if (lane == 0u) y[row] = parts[0];
}
