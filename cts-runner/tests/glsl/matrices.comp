#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float -2 2
//! output float 1e-4
void main() {
    mat4 m = mat4(v(), v().yzwx, v().zwxy + 1.0, vec4(1.0, 2.0, f(0u), f(1u)));
    mat3 a = mat3(m), b = transpose(a);
    vec4 r = m * v() + vec4(a * b[1], 0.0) + v() * m;
    put(r + vec4((a * b)[2], outerProduct(v(), v())[1].z) + vec4(matrixCompMult(a, b)[0], 0.0));
}
