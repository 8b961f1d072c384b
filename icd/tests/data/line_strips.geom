#version 450
// Makes strips of two lines from left to right, one per invocation, along the middles of the rows.
layout(points, invocations = 4) in;
layout(line_strip, max_vertices = 3) out;
layout(location = 0) flat out uint number_out;
void main() {
    for (int i = 0; i < 3; ++i) {
        number_out = gl_InvocationID * 10 + i;
        gl_Position = vec4(float(i) - 1.0, (float(gl_InvocationID) * 4.0 + 0.5) / 8.0 - 1.0, 0.0, 1.0);
        EmitVertex();
    }
}
