#version 450
#extension GL_GOOGLE_include_directive : require
#include "reduce64.glsl"
// y = W x, a workgroup per row: Q4_K as it lies in files. A block of 256 weights is 36 words: scale and least value in f16,
// six bits of each for eight parts of 32 weights in 12 bytes, and nibbles, of which a group of 32 bytes holds two parts.
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer W { uint w[]; };
layout(std430, binding = 1) readonly buffer X { vec4 x[]; };
layout(std430, binding = 2) writeonly buffer Y { float y[]; };
layout(push_constant) uniform Push { uint n; };
uint byte_of(uint base, uint i) { return bitfieldExtract(w[base + 1u + i / 4u], int(8u * (i & 3u)), 8); }
void main() {
    uint row = gl_WorkGroupID.x, blocks = n / 256u;
    float sum = 0.0;
    // Sixteen lanes to a block: half of a part each.
    for (uint i = gl_LocalInvocationID.x; i < blocks * 16u; i += 64u) {
        uint block = i / 16u, part = (i & 15u) / 2u, half_part = i & 1u, base = (row * blocks + block) * 36u;
        vec2 both = unpackHalf2x16(w[base]);
        uint scale, least;
        if (part < 4u) {
            scale = byte_of(base, part) & 63u;
            least = byte_of(base, part + 4u) & 63u;
        } else {
            uint low = byte_of(base, part + 4u);
            scale = (low & 15u) | ((byte_of(base, part - 4u) >> 6u) << 4u);
            least = (low >> 4u) | ((byte_of(base, part) >> 6u) << 4u);
        }
        float products = 0.0, values = 0.0;
        for (uint k = 0u; k < 4u; k++) {
            uint word = w[base + 4u + part / 2u * 8u + half_part * 4u + k] >> (4u * (part & 1u));
            vec4 q = vec4(word & 15u, (word >> 8u) & 15u, (word >> 16u) & 15u, (word >> 24u) & 15u);
            vec4 v = x[block * 64u + part * 8u + half_part * 4u + k];
            products += dot(q, v);
            values += dot(vec4(1.0), v);
        }
        sum += both.x * float(scale) * products - both.y * float(least) * values;
    }
    sum = reduced(sum);
    if (gl_LocalInvocationID.x == 0u) y[row] = sum;
}
