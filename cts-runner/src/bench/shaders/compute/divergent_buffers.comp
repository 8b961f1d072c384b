#version 450
#extension GL_EXT_nonuniform_qualifier : require
// Each invocation reads four words of a buffer of its own among sixteen.
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer In { uint x[]; };
layout(std430, binding = 1) writeonly buffer Out { uint y[]; };
layout(std430, binding = 2) readonly buffer Part { uint words[]; } parts[16];
void main() {
    uint i = gl_GlobalInvocationID.x, value = x[i], part = value & 15u, at = value >> 22u;
    uint sum = 0u;
    for (uint k = 0u; k < 4u; k++) sum = sum * 3u + parts[nonuniformEXT(part)].words[(at + k * 67u) & 1023u];
    y[i] = sum;
}
