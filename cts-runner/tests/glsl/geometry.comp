#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float -4 4
//! output float 2e-4
void main() {
    vec3 a = v().xyz + vec3(0.0, 0.0, 9.0), b = v().yzw;
    vec3 n = normalize(a);
    put(vec4(dot(a, b), length(cross(a, b)), distance(a, b), reflect(b, n).x));
}
