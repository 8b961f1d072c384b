#version 450
// Captures the numbers of a primitive's vertices in the order in which the stage receives them.
// INPUT is the input primitive.
layout(INPUT) in;
layout(points, max_vertices = 6) out;
layout(location = 0) flat in uint number[];
layout(location = 0, xfb_buffer = 0, xfb_offset = 0, xfb_stride = 4) flat out uint received;
void main() {
    for (int i = 0; i < gl_in.length(); i++) {
        received = number[i];
        gl_Position = vec4(0.0, 0.0, 0.5, 1.0);
        gl_PointSize = 1.0;
        gl_PrimitiveID = int(number[i]);
        EmitVertex();
        EndPrimitive();
    }
}
