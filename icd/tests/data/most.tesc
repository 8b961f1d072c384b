#version 450
// Makes the largest number of triangles.
layout(vertices = 3) out;
void main() {
    gl_out[gl_InvocationID].gl_Position = gl_in[gl_InvocationID].gl_Position;
    gl_TessLevelOuter[gl_InvocationID] = 64.0;
    gl_TessLevelInner[0] = 64.0;
}
