#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
struct Leaf { uint value; bool set; };
struct Node { Leaf leaves[3]; uvec2 key; };
Node make(uint seed) {
    Node n;
    for (uint k = 0u; k < 3u; ++k) n.leaves[k] = Leaf(seed * (k + 3u), (seed >> k & 1u) != 0u);
    n.key = uvec2(seed, ~seed);
    return n;
}
void main() {
    Node a = make(u(0u)), b = make(u(1u));
    if (u(2u) > u(3u)) a.leaves[1] = b.leaves[2]; else { Node t = a; a = b; b = t; }
    uint k = u(2u) % 3u;
    put(uvec4(a.leaves[k].value, uint(b.leaves[k].set), a.key.x + b.key.y, uint(a == b)));
}
