#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float -50 50
//! output float 0
void main() {
    float half_way = floor(f(0u)) + 0.5;
    put(vec4(roundEven(half_way), floor(half_way), ceil(-half_way), trunc(half_way)));
}
