#version 450
// Makes the largest number of primitives of a point; each covers everything.
layout(points, invocations = 32) in;
layout(triangle_strip, max_vertices = 256) out;
layout(location = 0) flat in uint number[];
layout(location = 0) flat out uint number_out;
void main() {
    for (int i = 0; i < 256; ++i) {
        number_out = number[0] * 32 + gl_InvocationID;
        gl_Position = vec4(vec2(i & 1, i >> 1 & 1) * 2.0 - 1.0, 0.0, 1.0);
        EmitVertex();
    }
}
