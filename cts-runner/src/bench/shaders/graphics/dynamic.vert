#version 450
// A rectangle (position, size in pixels) from a uniform buffer with a dynamic offset.
layout(set = 0, binding = 0) uniform Object { vec4 rectangle; vec4 color; };
void main() {
    vec2 p = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1);
    gl_Position = vec4((rectangle.xy + p * rectangle.zw) * (1.0 / 512.0) - 1.0, 0.0, 1.0);
}
