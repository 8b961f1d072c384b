#version 450
#extension GL_GOOGLE_include_directive : require
#include "reduce64.glsl"
// y = W x, a workgroup per row: Q8_0 as it lies in files (an f16 scale, then 32 signed bytes), which
// are 17 pairs of bytes; read as such from words, so that no feature is needed.
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer W { uint w[]; };
layout(std430, binding = 1) readonly buffer X { vec2 x[]; };
layout(std430, binding = 2) writeonly buffer Y { float y[]; };
layout(push_constant) uniform Push { uint n; };
uint pair_of(uint i) { return bitfieldExtract(w[i / 2u], int(16u * (i & 1u)), 16); }
void main() {
    uint row = gl_WorkGroupID.x, blocks = n / 32u;
    float sum = 0.0;
    // Four lanes to a block.
    for (uint i = gl_LocalInvocationID.x; i < blocks * 4u; i += 64u) {
        uint block = i / 4u, first = (i & 3u) * 4u, base = (row * blocks + block) * 17u;
        float part = 0.0;
        for (uint k = 0u; k < 4u; k++) {
            int both = int(pair_of(base + 1u + first + k));
            vec2 v = x[block * 16u + first + k];
            part += float(bitfieldExtract(both, 0, 8)) * v.x + float(bitfieldExtract(both, 8, 8)) * v.y;
        }
        sum += unpackHalf2x16(pair_of(base)).x * part;
    }
    sum = reduced(sum);
    if (gl_LocalInvocationID.x == 0u) y[row] = sum;
}
