#version 450
// y = W x, a workgroup per row: 4-bit weights in blocks of 32 with an f16 scale each (the scheme of Q4_0: byte j holds elements j and j + 16).
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer W { uint w[]; };
layout(std430, binding = 3) readonly buffer Scales { uint scales[]; };
layout(std430, binding = 1) readonly buffer X { float x[]; };
layout(std430, binding = 2) writeonly buffer Y { float y[]; };
layout(push_constant) uniform Push { uint n; };
shared float parts[64];
void main() {
    uint row = gl_WorkGroupID.x, lane = gl_LocalInvocationID.x;
    float sum = 0.0;
    for (uint i = lane; i < n / 8u; i += 64u) {
        uint block = i / 4u, global_block = row * (n / 32u) + block;
        vec2 pair = unpackHalf2x16(scales[global_block / 2u]);
        float scale = (global_block & 1u) == 0u ? pair.x : pair.y;
        uint word = w[row * (n / 8u) + i];
        uint first = block * 32u + (i & 3u) * 4u;
        float part = 0.0;
        for (uint k = 0u; k < 4u; k++) {
            uint both = (word >> (8u * k)) & 255u;
            part += (float(both & 15u) - 8.0) * x[first + k] + (float(both >> 4u) - 8.0) * x[first + 16u + k];
        }
        sum += scale * part;
    }
    parts[lane] = sum;
    barrier();
    for (uint half_width = 32u; half_width > 0u; half_width >>= 1u) {
        if (lane < half_width) parts[lane] += parts[lane + half_width];
        barrier();
    }
    if (lane == 0u) y[row] = parts[0];
}
