#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
shared uint histogram[16];
shared int lowest;
void main() {
    if (gl_LocalInvocationIndex < 16u) histogram[gl_LocalInvocationIndex] = 0u;
    if (gl_LocalInvocationIndex == 0u) lowest = 0x7fffffff;
    barrier();
    atomicAdd(histogram[u(0u) & 15u], 1u);
    atomicMin(lowest, i(1u));
    barrier();
    uint total = atomicExchange(words_out[id() * 4u], histogram[gl_LocalInvocationIndex & 15u]);
    put(1u, histogram[u(2u) & 15u]);
    put(2u, uint(lowest));
    put(3u, total);
}
