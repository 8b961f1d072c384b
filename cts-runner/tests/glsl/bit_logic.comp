#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
void main() {
    uint s = u(3u) & 31u;
    put(uvec4((u(0u) & u(1u)) | ~u(2u), u(0u) << s, u(1u) >> s, uint(i(2u) >> int(s)) ^ 0x5a5a5a5au));
}
