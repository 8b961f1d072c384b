#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
shared uint keys[64];
void main() {
    uint lane = gl_LocalInvocationID.x;
    keys[lane] = u(0u);
    for (uint size = 2u; size <= 64u; size *= 2u) {
        for (uint gap = size / 2u; gap > 0u; gap /= 2u) {
            barrier();
            uint other = lane ^ gap;
            uint mine = keys[lane], theirs = keys[other];
            barrier();
            bool up = (lane & size) == 0u, low = lane < other;
            keys[lane] = (low == up) ? min(mine, theirs) : max(mine, theirs);
        }
    }
    put(uvec4(keys[lane], lane, u(0u), 0u));
}
