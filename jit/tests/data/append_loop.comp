#version 450
// One atomic in a loop: as two.
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer In { uint a[]; };
layout(set = 0, binding = 1) buffer Out { uint count; uint list[]; };
void main() {
    for (uint i = 0u; i < a[0]; i++) list[gl_GlobalInvocationID.x] = atomicAdd(count, 1u);
}
