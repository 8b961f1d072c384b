#version 450
// A curve becomes four lines of 64 pieces.
layout(vertices = 4) out;
layout(location = 0) in vec2 point[];
layout(location = 0) out vec2 point_out[];
void main() {
    point_out[gl_InvocationID] = point[gl_InvocationID];
    gl_TessLevelOuter[0] = 4.0;
    gl_TessLevelOuter[1] = 64.0;
}
