#version 450
layout(vertices = 3) out;
layout(location = 0) in vec4 color[];
layout(location = 0) out vec4 color_out[];
void main() {
    float angle = 2.1 * float(gl_InvocationID);
    gl_out[gl_InvocationID].gl_Position = gl_in[0].gl_Position + vec4(cos(angle), sin(angle), 0.0, 0.0) * 0.25;
    color_out[gl_InvocationID] = color[0];
    gl_TessLevelInner[0] = 3.0;
    gl_TessLevelOuter[0] = 2.0;
    gl_TessLevelOuter[1] = 3.0;
    gl_TessLevelOuter[2] = 4.0;
}
