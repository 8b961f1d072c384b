#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) writeonly buffer Out { uint pixels[256]; };
layout(std430, binding = 1) readonly buffer W { uint w[]; };
layout(std430, binding = 2) readonly buffer X { float x[]; };
shared float parts[64];
void main() {
    uint lane = gl_LocalInvocationIndex;
    for (uint row = 0u; row < 16u; row++) {
        float sum = 0.0;
        for (uint i = lane; i < 128u; i += 64u) {
            uint word = w[row * 128u + i];
            float scale = unpackHalf2x16(w[row] & 0x03ff03ffu | 0x2c002800u)[i & 1u];
            for (uint k = 0u; k < 8u; k++) sum += scale * (float((word >> (4u * k)) & 15u) - 8.0) * x[i * 8u + k];
        }
        parts[lane] = sum;
        barrier();
        for (uint s = 32u; s > 0u; s >>= 1u) {
            if (lane < s) parts[lane] += parts[lane + s];
            barrier();
        }
        if (lane < 16u) pixels[row * 16u + lane] = packUnorm4x8(vec4(0.5 + parts[0] / 128.0, x[lane], 0.0, 1.0));
        barrier();
    }
}
