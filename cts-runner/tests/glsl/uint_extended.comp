#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
void main() {
    uint carry, borrow, high, low;
    uint sum = uaddCarry(u(0u), u(1u), carry);
    uint difference = usubBorrow(u(0u), u(1u), borrow);
    umulExtended(u(2u), u(3u), high, low);
    int shigh, slow;
    imulExtended(i(2u), i(3u), shigh, slow);
    put(uvec4(sum ^ (carry << 7), difference + borrow, high ^ low * 3u, uint(shigh) + uint(slow)));
}
