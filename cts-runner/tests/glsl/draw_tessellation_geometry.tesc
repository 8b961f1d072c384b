#version 450
// Levels by patch and vertex; some patches are dropped.
layout(vertices = 3) out;
layout(location = 0) in vec4 color[];
layout(location = 1) in vec4 other[][2];
layout(location = 0) out vec4 color_out[];
layout(location = 2) patch out vec3 shift;
void main() {
    gl_out[gl_InvocationID].gl_Position = gl_in[gl_InvocationID].gl_Position;
    color_out[gl_InvocationID] = other[gl_InvocationID][1] + color[gl_InvocationID];
    if (gl_InvocationID == 0) {
        shift = color[1].xyz * 0.125;
        gl_TessLevelInner[0] = 1.0 + float(gl_PrimitiveID % 9);
        for (int i = 0; i < 3; ++i)
            gl_TessLevelOuter[i] = 0.75 + abs(color[i].x) * 6.0;
        if (gl_PrimitiveID % 7 == 3) gl_TessLevelOuter[1] = gl_PrimitiveID == 3 ? 0.0 : -1.0;
        if (gl_PrimitiveID == 5) gl_TessLevelOuter[2] = sqrt(-1.0 - color[0].x * color[0].x);
    }
}
