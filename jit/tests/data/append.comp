#version 450
// One atomic, of some invocations, whose results they use: it comes in their order however many lanes a chunk has.
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer In { uint a[]; };
layout(set = 0, binding = 1) buffer Out { uint count; uint list[]; };
void main() {
    uint value = a[gl_GlobalInvocationID.x];
    if ((value & 64u) != 0u) list[atomicAdd(count, value >> 30u) & 255u] = value + gl_LocalInvocationIndex;
}
