#version 450
// Never ends, unless a word is set.
layout(vertices = 3) out;
layout(set = 0, binding = 0) readonly buffer Stop { uint stop; };
void main() {
    uint n = 0;
    while (stop == 0u) {
        n = n * 3u + 1u;
    }
    gl_out[gl_InvocationID].gl_Position = gl_in[gl_InvocationID].gl_Position;
    gl_TessLevelOuter[gl_InvocationID] = float(n);
    gl_TessLevelInner[0] = 1.0;
}
