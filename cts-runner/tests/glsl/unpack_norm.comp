#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
//! output float 1e-6
void main() {
    put(unpackUnorm4x8(u(0u)) + unpackSnorm4x8(u(1u)) + vec4(unpackUnorm2x16(u(2u)), unpackSnorm2x16(u(3u))));
}
