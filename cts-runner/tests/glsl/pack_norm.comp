#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float -1.5 1.5
//! output bytes 1
void main() { put(uvec4(packUnorm4x8(v()), packSnorm4x8(v() * 0.5), packUnorm4x8(v().wzyx), packUnorm4x8(v().xxyy))); }
