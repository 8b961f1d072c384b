#version 450
// All halves, in either place of a word.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer In { uint a[]; };
layout(set = 0, binding = 1) buffer Out { uvec2 o[]; };
void main() {
    for (uint i = gl_LocalInvocationIndex; i < 65536u; i += 64u) o[i] = floatBitsToUint(unpackHalf2x16(a[i]));
}
