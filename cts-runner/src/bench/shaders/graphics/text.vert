#version 450
// A glyph's corner: position in pixels, texture coordinates, colour.
layout(location = 0) in vec2 position;
layout(location = 1) in vec2 coordinates;
layout(location = 2) in vec4 vertex_color;
layout(location = 0) flat out vec4 color;
layout(location = 1) out vec2 uv;
void main() {
    gl_Position = vec4(position * (1.0 / 512.0) - 1.0, 0.0, 1.0);
    color = vertex_color;
    uv = coordinates;
}
