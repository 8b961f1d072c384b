#version 450
layout(set = 0, binding = 0) readonly buffer Stop { uint stop; };
void main() {
    uint n = 0;
    while (stop == 0u) {
        n = n * 3u + 1u;
    }
    gl_Position = vec4(float(n & 1u), vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1) * 4.0 - 1.0, 1.0);
}
