#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
uint calls = 0u;
bool probe(uint x) { ++calls; return (x & 3u) == 0u; }
void main() {
    bool a = probe(u(0u)) || probe(u(1u)) && probe(u(2u));
    bool b = probe(u(3u)) && (probe(u(2u)) || probe(u(1u)));
    put(uvec4(uint(a), uint(b), calls, a == b ? calls * 2u : 9u));
}
