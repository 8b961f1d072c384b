#version 450
// All invocations add to one word and raise another.
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer In { uint x[]; };
layout(std430, binding = 1) buffer Out { uint sum, most; };
void main() {
    uint value = x[gl_GlobalInvocationID.x];
    atomicAdd(sum, value & 255u);
    atomicMax(most, value);
}
