#version 450
layout(local_size_x = 256) in;
layout(std430, binding = 0) writeonly buffer Out { uint pixels[256]; };
layout(std430, binding = 1) readonly buffer X { float x[]; };
shared float parts[2][256];
void main() {
    uint i = gl_LocalInvocationIndex, from = 0u;
    parts[0][i] = x[i];
    barrier();
    for (uint reach = 1u; reach < 256u; reach <<= 1u) {
        parts[1u - from][i] = parts[from][i] + (i >= reach ? parts[from][i - reach] : 0.0);
        from = 1u - from;
        barrier();
    }
    pixels[i] = packUnorm4x8(vec4(parts[from][i] / 128.0, x[i], 0.5, 1.0));
}
