#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
void main() {
    uint sum = 0u;
    for (uint a = 0u; a < (u(0u) & 7u) + 1u; ++a) {
        for (uint b = a; b < 8u; ++b) {
            sum = sum * 31u + (u(b & 3u) >> a);
        }
    }
    put(uvec4(sum, sum ^ u(1u), 0u, 5u));
}
