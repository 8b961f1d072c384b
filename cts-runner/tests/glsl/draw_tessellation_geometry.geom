#version 450
layout(triangles) in;
layout(triangle_strip, max_vertices = 3) out;
layout(location = 0) in vec4 color[];
layout(location = 0) out vec4 color_out;
void main() {
    for (int i = 0; i < 3; ++i) {
        gl_Position = gl_in[i].gl_Position * vec4(-1.0, 1.0, 1.0, 1.0);
        color_out = color[i].wzyx;
        EmitVertex();
    }
}
