#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
void main() {
    uint base = gl_WorkGroupID.x * 256u;
    atomicAdd(words_out[base], u(0u) & 0xffffu);
    atomicMin(words_out[base + 1u], u(1u) >> 4u);
    atomicMax(words_out[base + 2u], u(1u));
    atomicAnd(words_out[base + 3u], u(2u) | 0xffu);
    atomicOr(words_out[base + 4u], u(2u) & 0xf0f0u);
    atomicXor(words_out[base + 5u], u(3u));
    uint seen = 0u;
    for (uint k = 0u; k < 64u; ++k) { if (atomicCompSwap(words_out[base + 6u], k, k + 1u) == k) ++seen; }
    atomicAdd(words_out[base + 7u], seen);
}
