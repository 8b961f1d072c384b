#version 450
// Places vertices in the middle of the cells of a 4×4 grid, repeatedly.
layout(location = 0) flat out uint number;
void main() {
    number = gl_VertexIndex;
    gl_Position = vec4(vec2(gl_VertexIndex % 4, gl_VertexIndex / 4 % 4) * 0.5 - 0.75, 0.0, 1.0);
}
