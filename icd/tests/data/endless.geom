#version 450
// Never ends, unless a word is set.
layout(triangles) in;
layout(triangle_strip, max_vertices = 3) out;
layout(set = 0, binding = 0) buffer Stop { volatile uint stop; };
void main() {
    while (stop == 0) {
        gl_Position = gl_in[0].gl_Position;
        EmitVertex();
    }
}
