#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Out { uint o[]; };
layout(constant_id = 0) const uint WORDS = 64;
shared uint words[WORDS];
void main() {
    words[gl_LocalInvocationIndex] = gl_LocalInvocationIndex;
    barrier();
    o[gl_LocalInvocationIndex] = words[63 - gl_LocalInvocationIndex];
}
