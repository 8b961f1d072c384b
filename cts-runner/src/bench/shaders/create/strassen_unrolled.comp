#version 450
layout(local_size_x = 256) in;
layout(std430, binding = 0) writeonly buffer Out { uint pixels[256]; };
// Products of 8x8 matrices held in registers, wholly unrolled: thousands of instructions with few live at a time.
layout(std430, binding = 1) readonly buffer A { mat4 a[]; };
layout(std430, binding = 2) readonly buffer B { mat4 b[]; };
mat4 strassen(mat4 a11, mat4 a12, mat4 a21, mat4 a22, mat4 b11, mat4 b12, mat4 b21, mat4 b22) {
    mat4 m1 = (a11 + a22) * (b11 + b22), m2 = (a21 + a22) * b11, m3 = a11 * (b12 - b22), m4 = a22 * (b21 - b11);
    mat4 m5 = (a11 + a12) * b22, m6 = (a21 - a11) * (b11 + b12), m7 = (a12 - a22) * (b21 + b22);
    return (m1 + m4 - m5 + m7) + (m3 + m5) + (m2 + m4) + (m1 - m2 + m3 + m6);
}
void main() {
    uint i = gl_LocalInvocationIndex;
    mat4 x = strassen(a[i], a[i + 1u], a[i + 2u], a[i + 3u], b[i], b[i + 1u], b[i + 2u], b[i + 3u]);
    mat4 y = strassen(b[i + 4u], b[i + 5u], b[i + 6u], b[i + 7u], a[i + 4u], a[i + 5u], a[i + 6u], a[i + 7u]);
    mat4 z = strassen(x, y, y, x, a[i], b[i], b[i + 1u], a[i + 1u]) / 1024.0;
    pixels[i] = packUnorm4x8(vec4(fract(z[0].x), 0.5 + 0.001 * z[1].y, x[2].z / 64.0, y[3].w / 64.0));
}
