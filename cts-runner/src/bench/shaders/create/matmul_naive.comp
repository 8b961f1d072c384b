#version 450
layout(local_size_x = 256) in;
layout(std430, binding = 0) writeonly buffer Out { uint pixels[256]; };
layout(std430, binding = 1) readonly buffer A { float a[]; };
layout(std430, binding = 2) readonly buffer B { float b[]; };
void main() {
    uint x = gl_LocalInvocationIndex & 15u, y = gl_LocalInvocationIndex >> 4u;
    float sum = 0.0;
    for (uint k = 0u; k < 64u; k++) sum += a[y * 64u + k] * b[k * 64u + x];
    pixels[gl_LocalInvocationIndex] = packUnorm4x8(vec4(sum / 32.0, 0.0, 0.0, 1.0));
}
