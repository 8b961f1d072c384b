#version 450
layout(vertices = 1) out;
layout(location = 0) in vec4 color[];
layout(location = 0) out vec4 ends[][2];
layout(location = 4) out vec4 color_out[];
void main() {
    ends[gl_InvocationID][0] = gl_in[0].gl_Position;
    ends[gl_InvocationID][1] = gl_in[gl_PatchVerticesIn - 1].gl_Position;
    color_out[gl_InvocationID] = color[2];
    gl_TessLevelOuter[0] = 3.0;
    gl_TessLevelOuter[1] = 1.0 + 8.0 * abs(color[3].x);
}
