#version 450
#extension GL_EXT_samplerless_texture_functions : require
layout(local_size_x = 16) in;
layout(constant_id = 0) const uint MODE = 0;
// Index that is used in place of one from memory, if it is below 2^32 - 1.
layout(constant_id = 1) const uint INDEX = 0xffffffffu;
layout(set = 0, binding = 0) buffer Out { uint result[]; };
layout(set = 0, binding = 1) readonly buffer Indices { uint indices[]; };
layout(set = 0, binding = 2) buffer Data { uint data[]; };
layout(set = 0, binding = 2) buffer Data4 { uvec4 data4[]; };
layout(set = 0, binding = 3) uniform Uniform { uvec4 uniforms[16]; };
layout(set = 0, binding = 4) uniform utextureBuffer texels;
layout(set = 0, binding = 5, r32ui) uniform uimageBuffer storageTexels;
layout(set = 0, binding = 6, r32ui) uniform uimage2D image;
layout(set = 0, binding = 7) uniform utexture2D tex;
layout(push_constant) uniform Push { uint push[4]; };
shared uint words[16];

void main() {
    uint i = gl_LocalInvocationIndex;
    uint at = INDEX == 0xffffffffu ? indices[i] : INDEX;
    uint r = 0u;
    switch (MODE) {
    case 0: r = data[at]; break;
    case 1: data[at] = 0xdeadu; break;
    case 2: r = atomicAdd(data[at], 1u); break;
    case 3: r = uniforms[at].x; break;
    case 4: r = texelFetch(texels, int(at)).x; break;
    case 5: r = imageLoad(storageTexels, int(at)).x; break;
    case 6: imageStore(storageTexels, int(at), uvec4(0xdeadu)); break;
    case 7: r = imageAtomicAdd(storageTexels, int(at), 1u); break;
    case 8: r = imageLoad(image, ivec2(at, 0)).x; break;
    case 9: r = imageLoad(image, ivec2(0, at)).x; break;
    case 10: imageStore(image, ivec2(at, at), uvec4(0xdeadu)); break;
    case 11: r = imageAtomicAdd(image, ivec2(1, at), 1u); break;
    case 12: r = texelFetch(tex, ivec2(at, 1), 0).x; break;
    case 13: r = texelFetch(tex, ivec2(1, 1), int(at)).x; break;
    case 14: r = push[at]; break;
    case 15:
        words[i] = i + 1u;
        barrier();
        if (at >= 16u) {
            words[at] = 0xdeadu;
        }
        barrier();
        r = words[i];
        break;
    case 16:
        words[i] = i + 1u;
        barrier();
        r = words[at];
        break;
    case 17: r = data4[at].w; break;
    case 18: data4[at] = uvec4(0xdeadu); break;
    case 19: {
        uint own[16];
        for (uint k = 0u; k < 16u; ++k) {
            own[k] = k + 1u + (i - i);
        }
        own[at] += 0u;
        r = own[at];
        break;
    }
    }
    result[i] = r;
}
