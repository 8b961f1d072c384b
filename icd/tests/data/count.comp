#version 450
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) buffer Data { uint data[]; };
layout(push_constant) uniform Push { uint count; };
// Does work of a chosen length.
void main() {
    uint n = gl_LocalInvocationIndex;
    for (uint i = 0u; i < count; ++i) {
        n = n * 1664525u + 1013904223u + (n >> 7);
    }
    data[gl_LocalInvocationIndex] = n;
}
