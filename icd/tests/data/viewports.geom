#version 450
// Covers one of four viewports for a point; makes nothing for each sixth point.
layout(points) in;
layout(triangle_strip, max_vertices = 4) out;
layout(location = 0) flat in uint number[];
layout(location = 0) flat out uint number_out;
void main() {
    if (number[0] % 6 == 5)
        return;
    for (int i = 0; i < 4; ++i) {
        number_out = number[0];
        gl_ViewportIndex = int(number[0] % 4);
        gl_Position = vec4(vec2(i & 1, i >> 1) * 2.0 - 1.0, 0.0, 1.0);
        EmitVertex();
    }
}
