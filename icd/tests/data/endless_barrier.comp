#version 450
layout(local_size_x = 20) in;
layout(set = 0, binding = 0) readonly buffer Stop { uint stop; };
shared uint words[20];
void main() {
    words[gl_LocalInvocationIndex] = 0u;
    while (stop == words[(gl_LocalInvocationIndex + 1u) % 20u]) {
        barrier();
    }
}
