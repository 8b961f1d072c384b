#version 450
// Levels by a quantity of the patch.
layout(vertices = 4) out;
layout(location = 0) in vec2 corner[];
layout(location = 0) out vec2 at[];
void main() {
    at[gl_InvocationID] = corner[gl_InvocationID];
    if (gl_InvocationID == 0) {
        float level = 4.0 + 4.0 * distance(corner[0], corner[3]);
        gl_TessLevelOuter[0] = level;
        gl_TessLevelOuter[1] = level;
        gl_TessLevelOuter[2] = level;
        gl_TessLevelOuter[3] = level;
        gl_TessLevelInner[0] = level;
        gl_TessLevelInner[1] = level;
    }
}
