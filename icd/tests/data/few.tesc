#version 450
// Makes a few triangles.
layout(vertices = 3) out;
void main() {
    gl_out[gl_InvocationID].gl_Position = gl_in[gl_InvocationID].gl_Position;
    gl_TessLevelOuter[gl_InvocationID] = 5.0;
    gl_TessLevelInner[0] = 5.0;
}
