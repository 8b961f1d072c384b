#version 450
// Four vertices of a strip of lines as a strip of triangles.
layout(lines_adjacency) in;
layout(triangle_strip, max_vertices = 4) out;
layout(location = 0) in vec4 color[];
layout(location = 0) out vec4 color_out;
void main() {
    for (int i = 0; i < 4; ++i) {
        color_out = color[3 - i];
        gl_Position = gl_in[i].gl_Position;
        EmitVertex();
    }
}
