#version 450
layout(local_size_x = 256) in;
layout(std430, binding = 0) writeonly buffer Out { uint pixels[256]; };
void main() { pixels[gl_LocalInvocationIndex] = 0xff804020u; }
