#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
void main() {
    uint r;
    if ((u(0u) & 1u) != 0u) {
        if ((u(1u) & 1u) != 0u) { r = (u(2u) & 1u) != 0u ? u(3u) : ~u(3u); }
        else if ((u(1u) & 2u) != 0u) { r = u(2u) - 5u; }
        else { r = 7u; for (uint k = 0u; k < (u(3u) & 3u); ++k) { if ((u(2u) >> k & 1u) != 0u) r += k; else r *= 2u; } }
    } else {
        r = u(1u) / ((u(2u) & 255u) + 1u);
    }
    put(uvec4(r, r >> 1u, u(0u), r ^ u(1u)));
}
