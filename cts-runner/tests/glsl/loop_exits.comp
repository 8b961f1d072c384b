#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
void main() {
    uint found = 99u, seen = 0u;
    for (uint k = 0u; k < 32u; ++k) {
        if ((u(0u) >> k & 1u) == 0u) continue;
        ++seen;
        if (seen > (u(1u) & 7u)) { found = k; break; }
    }
    put(uvec4(found, seen, found + seen, 0u));
}
