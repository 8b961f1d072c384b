#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
void main() {
    bvec4 odd = notEqual(uv() & 1u, uvec4(0u));
    bvec4 big = greaterThan(uv(), uvec4(1u << 31));
    uint all_any = uint(all(odd)) * 2u + uint(any(big));
    put(uvec4(uint(odd.x && !big.y || odd.z ^^ big.w), all_any, uint(odd.x ? u(1u) : u(2u)), uint(any(not(odd)))));
}
