#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float -2 2
//! output float 1e-5
void main() {
    vec4 a = v();
    put(vec4(mix(a.x, a.y, a.z), smoothstep(-1.0, 1.5, a.w), step(a.x, a.y) + clamp(a.z, -0.5, 0.5), fma(a.x, a.y, a.z)));
}
