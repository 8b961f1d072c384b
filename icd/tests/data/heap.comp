#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_nonuniform_qualifier : require
// Set 1 contains the resources that tests read, set 0 the buffer for the results.
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) buffer Out { uint o[][8]; };
layout(set = 1, binding = 0) readonly buffer Words { uint w[]; } words[];
layout(set = 1, binding = 100) uniform Block { uvec4 v; } block;
layout(set = 1, binding = 101) uniform utextureBuffer texels;
layout(set = 1, binding = 102, r32ui) readonly uniform uimage2D image;
layout(set = 1, binding = 103) uniform usampler2D smp;
layout(set = 1, binding = 104) uniform utexture2D tex;

void main() {
    uint i = gl_GlobalInvocationID.x;
    o[i][0] = words[nonuniformEXT(i)].w[1];
    o[i][1] = words[nonuniformEXT(i)].w.length();
    o[i][2] = words[0].w[i];
    o[i][3] = block.v.z;
    o[i][4] = texelFetch(texels, int(i & 3)).x;
    o[i][5] = imageLoad(image, ivec2(i & 3, 1)).x;
    o[i][6] = texture(smp, vec2(1.5, 0.3)).x;
    o[i][7] = texelFetch(tex, ivec2(i & 3, 0), 0).x;
}
