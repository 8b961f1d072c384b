#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
void main() {
    uint shifted = u(0u) >> (u(3u) & 31u);
    put(ivec4(bitCount(u(0u)), findLSB(u(1u) << (u(3u) & 31u)), findMSB(shifted), findMSB(i(2u) >> int(u(3u) & 31u))));
}
