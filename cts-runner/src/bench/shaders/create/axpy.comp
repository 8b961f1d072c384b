#version 450
layout(local_size_x = 256) in;
layout(std430, binding = 0) writeonly buffer Out { uint pixels[256]; };
layout(std430, binding = 1) readonly buffer X { float x[]; };
layout(std430, binding = 2) readonly buffer Y { float y[]; };
layout(push_constant) uniform Push { float a; };
void main() {
    uint i = gl_LocalInvocationIndex;
    pixels[i] = packUnorm4x8(vec4(0.5 * (a * x[i] + y[i]), x[i + 7u], y[i + 11u], 1.0));
}
