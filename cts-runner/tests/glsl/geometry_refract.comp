#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float -1 1
//! output float 2e-3
void main() {
    vec3 n = normalize(vec3(f(0u), f(1u), 2.0));
    vec3 d = normalize(vec3(f(2u), f(3u), -1.5));
    vec3 r = refract(d, n, 0.7);
    put(vec4(r, faceforward(n, d, n).z));
}
