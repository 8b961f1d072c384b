#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
void main() {
    int offset = int(u(2u) & 15u), bits = int(u(3u) & 15u);
    uint extracted = bitfieldExtract(u(0u), offset, bits);
    int signed_part = bitfieldExtract(i(0u), offset, bits);
    put(uvec4(extracted, uint(signed_part), bitfieldInsert(u(0u), u(1u), offset, bits), bitfieldReverse(u(1u))));
}
