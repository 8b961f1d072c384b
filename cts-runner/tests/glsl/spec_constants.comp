#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
//! spec 0=5 2=1 7=9
layout(constant_id = 0) const uint COUNT = 2u;
layout(constant_id = 1) const int UNSET = -3;
layout(constant_id = 2) const bool FLAG = false;
layout(constant_id = 7) const uint MORE = 1u;
const uint DERIVED = COUNT * 3u + MORE;
void main() {
    uint values[COUNT];
    for (uint k = 0u; k < COUNT; ++k) values[k] = u(k & 3u) + k * DERIVED;
    uint sum = 0u;
    for (uint k = 0u; k < COUNT; ++k) sum ^= values[k];
    put(uvec4(sum, FLAG ? DERIVED : 0u, uint(UNSET), values[u(0u) % COUNT]));
}
