#version 450
layout(location = 0) out vec4 varying_color;
// Makes a triangle whose edges, depth and colours need rounding.
void main() {
    vec2 corner = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1);
    gl_Position = vec4(corner * 2.37 - 0.81, 0.3 * corner.x, 1.0 + 0.17 * corner.y);
    varying_color = vec4(corner * 0.37, 1.0e-3, 1.0);
}
