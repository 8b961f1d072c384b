#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) buffer Result { uint result[]; };
layout(set = 0, binding = 1) uniform First { uvec4 first[65536]; };
layout(set = 0, binding = 64) uniform Last { uvec4 last[65536]; };
// Reads both ends of the first and of the last block.
void main() {
    uint i = gl_LocalInvocationIndex;
    result[4 * i] = first[i].x;
    result[4 * i + 1] = first[65535 - i].w;
    result[4 * i + 2] = last[i].y;
    result[4 * i + 3] = last[65535 - i].z;
}
