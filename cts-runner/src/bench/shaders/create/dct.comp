#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) writeonly buffer Out { uint pixels[256]; };
// JPEG's forward transform and quantisation of four blocks of 8x8.
layout(std430, binding = 1) readonly buffer X { float x[]; };
shared float block[64], rows[64];
float basis(uint k, uint n) { return (k == 0u ? 0.35355339 : 0.5) * cos(float((2u * n + 1u) * k) * 0.19634954); }
void main() {
    uint i = gl_LocalInvocationIndex, u = i & 7u, v = i >> 3u;
    for (uint b = 0u; b < 4u; b++) {
        block[i] = x[b * 64u + i] - 0.5;
        barrier();
        float sum = 0.0;
        for (uint n = 0u; n < 8u; n++) sum += block[v * 8u + n] * basis(u, n);
        rows[i] = sum;
        barrier();
        sum = 0.0;
        for (uint n = 0u; n < 8u; n++) sum += rows[n * 8u + u] * basis(v, n);
        pixels[b * 64u + i] = packUnorm4x8(vec4(0.5 + 0.4 * sum, 0.1 * float(u + v) / 14.0, 0.0, 1.0));
        barrier();
    }
}
