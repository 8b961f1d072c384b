#version 450
// Makes the texels of four layers of 16×16 of one point, with a number each. The test sets the
// number of vertices in the module, because it is larger than glslang accepts.
layout(points) in;
layout(points, max_vertices = 256) out;
layout(location = 0) flat out uint number_out;
void main() {
    for (int i = 0; i < 1024; ++i) {
        number_out = 3 * i;
        gl_Layer = i >> 8;
        gl_PointSize = 1.0;
        gl_Position = vec4((vec2(i & 15, i >> 4 & 15) * 2.0 - 15.0) / 16.0, 0.0, 1.0);
        EmitVertex();
        EndPrimitive();
    }
}
