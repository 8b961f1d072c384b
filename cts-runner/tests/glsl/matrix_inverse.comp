#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float -1 1
//! output float 2e-3
void main() {
    mat3 m = mat3(6.0, f(0u), f(1u), f(2u), 5.0, f(3u), f(1u), f(0u), 7.0);
    mat2 s = mat2(4.0, f(0u), f(1u), 3.0);
    mat4 q = mat4(m);
    q[3] = vec4(f(0u), 0.5, f(2u), 5.0);
    put(vec4(determinant(m) * 0.01, inverse(m)[1].z, inverse(s)[0].y, inverse(q)[2].w + determinant(q) * 0.001));
}
