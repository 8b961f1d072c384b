#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float -100 100
//! output float 2e-6
void main() {
    precise vec4 a = v();
    precise float q = a.x / (abs(a.y) + 0.5);
    put(vec4(a.x + a.y * 0.5, q, a.z - a.w, -a.x * a.z));
}
