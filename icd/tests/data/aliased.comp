#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer Data { uint data[]; };
// The first two views are of arrays and the next two are not, or the other way round.
layout(binding = 1, r32ui) uniform readonly uimage2D flat_image;
layout(binding = 2) uniform usampler2D flat_texture;
layout(binding = 3, r32ui) uniform readonly uimage2DArray array_image;
layout(binding = 4) uniform usampler2DArray array_texture;
void main() {
    uint i = gl_LocalInvocationID.x;
    ivec2 p = ivec2(i % 8, i / 8);
    vec2 at = (vec2(p) + 0.5) / 8;
    data[i] = imageLoad(flat_image, p).x;
    data[64 + i] = texelFetch(flat_texture, p, 0).x;
    data[128 + i] = textureLod(flat_texture, at, 0).x;
    data[192 + i] = imageLoad(array_image, ivec3(p, 0)).x;
    data[256 + i] = texelFetch(array_texture, ivec3(p, 0), 0).x;
    data[320 + i] = textureLod(array_texture, vec3(at, 3), 0).x;
    // Reads a layer that does not exist, and the number of layers.
    data[384 + i] = imageLoad(array_image, ivec3(p, 1)).x + texelFetch(array_texture, ivec3(p, 1), 0).x;
    data[448 + i] = imageSize(array_image).z + textureSize(array_texture, 0).z;
}
