#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
//! push 7 11 4000000000 3
layout(push_constant) uniform Push { uint a; int b; uint c[2]; } push;
void main() { put(uvec4(u(0u) * push.a, u(1u) + uint(push.b), push.c[u(2u) & 1u], push.c[0] >> push.c[1])); }
