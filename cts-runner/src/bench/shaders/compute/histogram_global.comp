#version 450
// 256 bins: one atomic in device memory per word.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer In { uint x[]; };
layout(std430, binding = 1) buffer Bins { uint bins[256]; };
void main() { atomicAdd(bins[x[gl_GlobalInvocationID.x] >> 24u], 1u); }
