#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
void main() {
    uint heap[16];
    for (uint k = 0u; k < 16u; ++k) { heap[k] = u(k & 3u) * (k + 1u); }
    for (uint k = 0u; k < 16u; ++k) { uint at = heap[k] & 15u; uint t = heap[at]; heap[at] = heap[k] + 1u; heap[k] = t; }
    put(uvec4(heap[u(0u) & 15u], heap[3], heap[u(1u) >> 28u], heap[15]));
}
