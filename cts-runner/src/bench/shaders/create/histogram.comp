#version 450
layout(local_size_x = 256) in;
layout(std430, binding = 0) writeonly buffer Out { uint pixels[256]; };
layout(std430, binding = 1) readonly buffer X { float x[]; };
shared uint bins[256];
void main() {
    uint i = gl_LocalInvocationIndex;
    bins[i] = 0u;
    barrier();
    for (uint k = 0u; k < 16u; k++) atomicAdd(bins[uint(x[i + k * 256u] * x[i] * 255.0)], 1u);
    barrier();
    pixels[i] = packUnorm4x8(vec4(float(bins[i]) / 64.0, x[i], 0.0, 1.0));
}
