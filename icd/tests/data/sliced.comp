#version 450
// Uses some slices of a volume: it stores to all of them, and to as many behind them. As a sampled
// image the view has all slices of the volume.
layout(local_size_x = 4, local_size_y = 4, local_size_z = 8) in;
layout(set = 0, binding = 0, r32ui) uniform uimage3D image;
layout(set = 0, binding = 1) uniform usampler3D sampled;
void main() {
    ivec3 at = ivec3(gl_GlobalInvocationID);
    uint sizes = 1000u * uint(textureSize(sampled, 0).z) + 100u * uint(imageSize(image).z);
    imageStore(image, at, uvec4(sizes + 10u * uint(at.z) + imageLoad(image, at).r));
}
