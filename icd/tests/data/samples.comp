#version 450
// Writes every sample of a multisampled image, adds to one, and reads all of them.
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0) buffer Result { uint result[]; };
layout(binding = 1, r32ui) coherent uniform uimage2DMS image;

void main() {
    ivec2 at = ivec2(gl_LocalInvocationID.xy);
    uint own = 8u * gl_LocalInvocationID.y + gl_LocalInvocationID.x;
    for (int i = 0; i < imageSamples(image); ++i)
        imageStore(image, at, i, uvec4(own + 64u * uint(i)));
    uint before = imageAtomicAdd(image, at, 2, 1000u);
    for (int i = 0; i < 4; ++i)
        result[64 * i + own] = imageLoad(image, at, i).x;
    // These coordinates are outside of the image, where nothing exists.
    imageStore(image, at, 4, uvec4(7));
    result[256 + own] = before + imageLoad(image, at, 4).x + imageLoad(image, at + ivec2(8), 0).x;
}
