#version 450
// Makes a patch with the largest number of components of its own.
layout(vertices = 4) out;
layout(location = 0) flat in uint number[];
layout(location = 0) patch out uvec4 words[32];
void main() {
    vec2 corner = vec2(gl_InvocationID & 1, gl_InvocationID >> 1) * 0.5 - 0.25;
    gl_out[gl_InvocationID].gl_Position = gl_in[0].gl_Position + vec4(corner, 0.0, 0.0);
    if (gl_InvocationID == 0)
        for (uint i = 0; i < 32; ++i) words[i] = (4 * i + uvec4(0, 1, 2, 3)) * (number[0] + 1);
    gl_TessLevelOuter[gl_InvocationID] = 1.0;
    if (gl_InvocationID < 2) gl_TessLevelInner[gl_InvocationID] = 1.0;
}
