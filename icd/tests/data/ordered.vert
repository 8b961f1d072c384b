#version 450
layout(location = 0) flat out uint number;
// Makes a triangle per instance, over three pixels of one quad.
void main() {
    vec2 corner = vec2(gl_VertexIndex == 1, gl_VertexIndex == 2);
    gl_Position = vec4((corner * 2.4 + 6.0) / 32.0 - 1.0, 0.0, 1.0);
    number = uint(gl_InstanceIndex);
}
