#version 450
// Words of a table, another one for each lane, and two branches.
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer In { uint x[]; };
layout(std430, binding = 1) buffer Out { uint table[]; };
void main() {
    uint value = x[gl_GlobalInvocationID.x], slot = value >> 16u;
    if ((value & 1u) == 0u) atomicAdd(table[slot], value & 0xffffu);
    else atomicXor(table[65536u + slot], value);
}
