#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
void main() {
    uint state = u(0u) & 3u, tape = u(1u), trace = 0u;
    for (int k = 0; k < 24; ++k) {
        uint bit = tape & 1u;
        tape >>= 1u;
        switch (state) {
            case 0u: state = bit == 1u ? 1u : 2u; break;
            case 1u: if (bit == 0u) continue; state = 3u; break;
            case 2u: state = bit; trace += 5u; break;
            default: state = (trace & 1u) * 2u; break;
        }
        trace = trace * 3u + state;
        if (trace > 0xf0000000u) break;
    }
    put(uvec4(trace, state, tape, 0u));
}
