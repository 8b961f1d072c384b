#version 450
// y = W x, a workgroup per row: 8-bit weights in blocks of 32 with an f16 scale each (the scheme of Q8_0).
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
    for (uint i = lane; i < n / 4u; i += 64u) {
        uint block = row * (n / 32u) + i / 8u;
        vec2 pair = unpackHalf2x16(scales[block / 2u]);
        float scale = (block & 1u) == 0u ? pair.x : pair.y;
        int word = int(w[row * (n / 4u) + i]);
        float part = 0.0;
        for (int k = 0; k < 4; k++) part += float(bitfieldExtract(word, 8 * k, 8)) * x[4u * i + uint(k)];
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
