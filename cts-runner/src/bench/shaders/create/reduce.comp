#version 450
layout(local_size_x = 256) in;
layout(std430, binding = 0) writeonly buffer Out { uint pixels[256]; };
layout(std430, binding = 1) readonly buffer X { float x[]; };
shared float parts[256];
void main() {
    uint i = gl_LocalInvocationIndex;
    parts[i] = x[i] + x[i + 256u] + x[i + 512u] + x[i + 768u];
    barrier();
    for (uint s = 128u; s > 0u; s >>= 1u) {
        if (i < s) parts[i] += parts[i + s];
        barrier();
    }
    pixels[i] = packUnorm4x8(vec4(parts[0] / 1024.0, x[i], 0.0, 1.0));
}
