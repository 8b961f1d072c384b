#version 450
#extension GL_EXT_nonuniform_qualifier : require
layout(local_size_x = 16) in;
layout(constant_id = 0) const uint MODE = 0;
layout(constant_id = 1) const uint INDEX = 0xffffffffu;
layout(set = 0, binding = 0) buffer Out { uint result[]; };
layout(set = 0, binding = 1) readonly buffer Indices { uint indices[]; };
layout(set = 0, binding = 2) buffer Storage { uint value; } storages[4];
layout(set = 0, binding = 3) uniform Uniform { uint value; } uniforms[4];
layout(set = 0, binding = 4, r32ui) uniform uimage2D images[4];
layout(set = 0, binding = 5) uniform usampler2D combined[4];
layout(set = 0, binding = 6) uniform utexture2D textures[4];
layout(set = 0, binding = 7) uniform sampler samplers[4];
layout(set = 0, binding = 8, r32ui) uniform uimageBuffer texels[4];

void main() {
    uint i = gl_LocalInvocationIndex;
    uint at = INDEX == 0xffffffffu ? indices[i] : INDEX;
    uint all = INDEX == 0xffffffffu ? indices[gl_WorkGroupID.x + 9u] : INDEX;
    uint r = 0u;
    switch (MODE) {
    case 0: r = storages[all].value; break;
    case 1: r = storages[nonuniformEXT(at)].value; break;
    case 2: atomicMax(storages[nonuniformEXT(at)].value, 7u); break;
    case 3: r = uniforms[all].value; break;
    case 4: r = uniforms[nonuniformEXT(at)].value; break;
    case 5: r = imageLoad(images[all], ivec2(0)).x; break;
    case 6: r = imageLoad(images[nonuniformEXT(at)], ivec2(0)).x; break;
    case 7: imageStore(images[nonuniformEXT(at)], ivec2(0), uvec4(7u)); break;
    case 8: r = texelFetch(combined[nonuniformEXT(at)], ivec2(0), 0).x; break;
    case 9: r = textureLod(usampler2D(textures[nonuniformEXT(at)], samplers[nonuniformEXT(at)]), vec2(0.0), 0.0).x; break;
    case 10: r = textureLod(usampler2D(textures[all], samplers[all]), vec2(0.0), 0.0).x; break;
    case 11: r = imageLoad(texels[nonuniformEXT(at)], 0).x; break;
    case 12: imageStore(texels[nonuniformEXT(at)], 0, uvec4(7u)); break;
    }
    result[i] = r;
}
