#version 450
// As fill.vert, with a gradient: red grows to the right, green downwards, blue falls to the right.
layout(location = 0) in vec4 instance_color;
layout(location = 0) out vec4 color;
void main() {
    vec2 p = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1);
    gl_Position = vec4(p * 2.0 - 1.0, 0.0, 1.0);
    color = instance_color * vec4(p.x, p.y, 1.0 - p.x, 1.0);
}
