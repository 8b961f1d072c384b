#version 450
// Makes the cell of a point in three layers.
layout(points, invocations = 3) in;
layout(triangle_strip, max_vertices = 4) out;
layout(location = 0) flat in uint number[];
layout(location = 0) flat out uint number_out;
void main() {
    for (int i = 0; i < 4; ++i) {
        number_out = number[0] + 1000 * gl_InvocationID;
        gl_Layer = gl_InvocationID;
        gl_Position = gl_in[0].gl_Position + vec4(vec2(i & 1, i >> 1) * 0.5 - 0.25, 0.0, 0.0);
        EmitVertex();
    }
}
