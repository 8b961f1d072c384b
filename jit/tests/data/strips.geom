#version 450
// Two strips; the second one's length is the primitive's. An array of each vertex is indexed dynamically.
layout(lines_adjacency, invocations = 2) in;
layout(line_strip, max_vertices = 6) out;
layout(location = 0) in float a[][3];
layout(location = 0) out float b;
void main() {
    for (int i = 0; i < 2; ++i) {
        gl_Position = gl_in[i].gl_Position;
        b = a[i + 1][gl_PrimitiveIDIn % 3];
        EmitVertex();
    }
    EndPrimitive();
    for (int i = 0; i < gl_PrimitiveIDIn + gl_InvocationID; ++i) {
        gl_Position = gl_in[i & 3].gl_Position;
        b = a[i & 3][0];
        EmitVertex();
    }
}
