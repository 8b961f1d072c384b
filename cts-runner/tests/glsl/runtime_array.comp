#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
void main() { put(uvec4(words_in.length(), words_out.length(), words_in[u(0u) & 4095u], words_in[words_in.length() - 1])); }
