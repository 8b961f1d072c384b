#version 450
#extension GL_EXT_nonuniform_qualifier : require
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) buffer Out { uint o[]; };
layout(set = 0, binding = 1, r32ui) uniform uimageBuffer images[];
layout(push_constant) uniform Push { uint first; };
void main() {
    uint i = gl_LocalInvocationIndex;
    o[i] = imageLoad(images[nonuniformEXT(first + i)], 0).x;
    o[8 + i] = imageSize(images[nonuniformEXT(first + i)]);
}
