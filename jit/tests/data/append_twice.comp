#version 450
// Two atomics at one place: in what order invocations find it depends on the lanes of a chunk.
layout(local_size_x = 32) in;
layout(set = 0, binding = 1) buffer Out { uint count; uint list[]; };
void main() {
    uint first = atomicAdd(count, 1u);
    list[gl_GlobalInvocationID.x] = first + 1000u * atomicAdd(count, 1u);
}
