#version 450
layout(location = 0) out vec2 cell;
void main() { cell = vec2(gl_VertexIndex & 3, gl_VertexIndex >> 2); gl_Position = vec4(0.0); }
