#version 450
#extension GL_EXT_samplerless_texture_functions : require
// Binding 1 is mutable: the variables are the possible types of its elements.
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer Out { uint o[8]; };
layout(set = 0, binding = 1) readonly buffer Words { uint w[]; } words[4];
layout(set = 0, binding = 1) uniform Block { uvec4 v; } blocks[4];
layout(set = 0, binding = 1) uniform utextureBuffer texels[4];
layout(set = 0, binding = 1, r32ui) readonly uniform uimage2D images[4];

void main() {
    o[0] = words[0].w[1];
    o[1] = words[0].w.length();
    o[2] = texelFetch(texels[1], 2).x;
    o[3] = uint(textureSize(texels[1]));
    o[4] = imageLoad(images[2], ivec2(1, 0)).x;
    o[5] = uint(imageSize(images[2]).x);
    o[6] = imageLoad(images[2], ivec2(9, 0)).w;
    o[7] = blocks[3].v.z;
}
