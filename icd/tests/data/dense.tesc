#version 450
// Makes patches as patches.tesc does: many undivided patches, then some with the largest number of
// triangles.
layout(vertices = 4) out;
layout(location = 0) flat in uint number[];
layout(location = 0) patch out uint number_out;
void main() {
    vec2 corner = vec2(gl_InvocationID & 1, gl_InvocationID >> 1) * 0.5 - 0.25;
    gl_out[gl_InvocationID].gl_Position = gl_in[0].gl_Position + vec4(corner, 0.0, 0.0);
    number_out = number[0];
    float level = gl_PrimitiveID < 20000 ? 1.0 : 64.0;
    gl_TessLevelOuter[gl_InvocationID] = level;
    if (gl_InvocationID < 2) gl_TessLevelInner[gl_InvocationID] = level;
}
