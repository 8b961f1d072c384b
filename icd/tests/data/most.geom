#version 450
// Of one point the texels of four layers of 16×16, with a number each. (The test says how many there are: more than glslang believes.)
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
