#version 450
// A rectangle per instance: position and size in pixels, depth, colour.
layout(location = 0) in vec4 rectangle;
layout(location = 1) in float depth;
layout(location = 2) in vec4 instance_color;
layout(location = 0) flat out vec4 color;
void main() {
    vec2 corner = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1);
    gl_Position = vec4((rectangle.xy + corner * rectangle.zw) * (1.0 / 512.0) - 1.0, depth, 1.0);
    color = instance_color;
}
