#version 450
// What is made without control flow has constant numbers; no strip ends before the last vertex; nothing writes sizes and distances.
layout(triangles) in;
layout(triangle_strip, max_vertices = 3) out;
layout(location = 2) in vec2 a[];
layout(location = 1) out vec2 b;
void main() {
    for (int i = 0; i < 3; ++i) {
        b = a[2 - i];
        gl_Position = gl_in[i].gl_Position;
        EmitVertex();
    }
    EndPrimitive();
}
