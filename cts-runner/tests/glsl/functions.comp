#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
void swap(inout uint a, inout uint b) { uint t = a; a = b; b = t; }
void split(uint x, out uint low, out uint high) { low = x & 0xffffu; high = x >> 16u; }
uint twist(uint a, const uint n) { for (uint k = 0u; k < n; ++k) { a = (a << 5u) ^ (a >> 3u) ^ k; } return a; }
void main() {
    uvec4 a = uv();
    swap(a.x, a.w);
    if (a.y > a.z) swap(a.y, a.z);
    uint low, high;
    split(twist(a.x, a.y & 7u), low, high);
    put(uvec4(low, high, a.y, twist(a.z, 3u)));
}
