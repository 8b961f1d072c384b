#version 450
// Makes patches of a vertex over cells of a grid: two triangles, or the number that the levels
// give. Patches 5 and 6 are dropped.
layout(vertices = 4) out;
layout(location = 0) flat in uint number[];
layout(location = 0) patch out uint number_out;
void main() {
    vec2 corner = vec2(gl_InvocationID & 1, gl_InvocationID >> 1) * 0.5 - 0.25;
    gl_out[gl_InvocationID].gl_Position = gl_in[0].gl_Position + vec4(corner, 0.0, 0.0);
    number_out = number[gl_PatchVerticesIn - 1];
    float level = gl_PrimitiveID == 5 ? 0.0 : gl_PrimitiveID == 6 ? sqrt(-1.0 - gl_in[0].gl_Position.x * 0.5) : 4.0;
    gl_TessLevelOuter[gl_InvocationID] = gl_InvocationID == 2 ? level : 4.0;
    if (gl_InvocationID < 2) gl_TessLevelInner[gl_InvocationID] = 4.0;
}
