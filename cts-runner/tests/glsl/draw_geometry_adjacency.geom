#version 450
// Of a strip of triangles with adjacency, the triangle coloured by all six vertices.
layout(triangles_adjacency) in;
layout(triangle_strip, max_vertices = 3) out;
layout(location = 0) in vec4 color[];
layout(location = 0) flat out vec4 color_out;
void main() {
    vec4 sum = vec4(0.0);
    for (int i = 0; i < 6; ++i)
        sum = sum * 0.5 + color[i];
    for (int i = 0; i < 6; i += 2) {
        color_out = sum + gl_in[i + 1].gl_Position * 0.25;
        gl_Position = gl_in[i].gl_Position;
        EmitVertex();
    }
    EndPrimitive();
}
