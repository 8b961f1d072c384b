#version 450
// One atomic that nobody reads: it is kept back, by chunks of as many lanes as ever.
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer In { uint a[]; };
layout(set = 0, binding = 1) buffer Out { uint counts[]; };
void main() { atomicAdd(counts[a[gl_GlobalInvocationID.x] & 255u], 1u); }
