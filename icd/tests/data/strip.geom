#version 450
// Makes a strip of four numbered vertices that covers everything.
layout(points) in;
layout(triangle_strip, max_vertices = 4) out;
layout(location = 0) flat out uint number_out;
void main() {
    for (int i = 0; i < 4; ++i) {
        number_out = i;
        gl_Position = vec4(vec2(i & 1, i >> 1) * 2.0 - 1.0, 0.0, 1.0);
        EmitVertex();
    }
}
