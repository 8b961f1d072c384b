#version 450
#extension GL_EXT_nonuniform_qualifier : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Out { uint o[]; };
layout(set = 1, binding = 0) readonly buffer Words { uint w[]; } words[];

void main() {
    uint i = gl_GlobalInvocationID.x;
    o[i] = words[nonuniformEXT(i)].w[0];
}
