#version 450
// Makes a point with a size of its own.
layout(points) in;
layout(points, max_vertices = 1) out;
layout(location = 0) flat in uint number[];
layout(location = 0) flat out uint number_out;
void main() {
    number_out = number[0];
    gl_PointSize = number[0] == 5 ? 4.0 : gl_in[0].gl_PointSize;
    gl_Position = gl_in[0].gl_Position;
    EmitVertex();
}
