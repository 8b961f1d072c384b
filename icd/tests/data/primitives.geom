#version 450
// Makes the cell of a point; fragments see the number that the stage writes.
layout(points, invocations = 4) in;
layout(triangle_strip, max_vertices = 4) out;
void main() {
    for (int i = 0; i < 4; ++i) {
        gl_PrimitiveID = gl_PrimitiveIDIn * 4 + gl_InvocationID;
        gl_Position = gl_in[0].gl_Position + vec4(vec2(i & 1, i >> 1) * 0.5 - 0.25, 0.0, 0.0);
        EmitVertex();
    }
}
