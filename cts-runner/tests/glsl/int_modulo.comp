#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
void main() {
    int a = i(0u) & 0x7fffffff, b = (i(1u) & 0xfff) + 1;
    put(ivec4(a % b, a / b, min(i(2u), i(3u)), max(-i(2u), i(3u) / 5)));
}
