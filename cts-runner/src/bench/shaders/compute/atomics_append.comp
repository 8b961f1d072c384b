#version 450
// A quarter of the words are appended to a list, in any order.
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer In { uint x[]; };
layout(std430, binding = 1) buffer Out { uint count; uint list[]; };
void main() {
    uint value = x[gl_GlobalInvocationID.x];
    if ((value & 3u) == 0u) list[atomicAdd(count, 1u)] = value;
}
