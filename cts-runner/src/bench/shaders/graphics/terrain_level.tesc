#version 450
// One level for all of a patch.
layout(vertices = 4) out;
layout(constant_id = 0) const uint LEVEL = 1;
layout(location = 0) in vec2 corner[];
layout(location = 0) out vec2 corner_out[];
void main() {
    corner_out[gl_InvocationID] = corner[gl_InvocationID];
    if (gl_InvocationID == 0) {
        for (int i = 0; i < 4; ++i) gl_TessLevelOuter[i] = float(LEVEL);
        for (int i = 0; i < 2; ++i) gl_TessLevelInner[i] = float(LEVEL);
    }
}
