#version 450
// A quad over the whole target for each instance, in the instance's colour.
layout(location = 0) in vec4 instance_color;
layout(location = 0) flat out vec4 color;
void main() {
    vec2 p = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1);
    gl_Position = vec4(p * 2.0 - 1.0, 0.0, 1.0);
    color = instance_color;
}
