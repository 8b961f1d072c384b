#version 450
// Triangles as they come; what the vertex stage made is passed on.
layout(triangles) in;
layout(triangle_strip, max_vertices = 3) out;
layout(location = 0) in vec4 color[];
layout(location = 1) in vec4 other[][2];
layout(location = 0) out vec4 color_out;
layout(location = 1) flat out vec4 flat_out;
layout(location = 2) noperspective out vec2 screen_out;
void main() {
    for (int i = 0; i < 3; ++i) {
        color_out = color[i];
        flat_out = other[i][0];
        screen_out = other[i][1].yz;
        gl_Position = gl_in[i].gl_Position;
        EmitVertex();
    }
}
