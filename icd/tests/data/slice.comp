#version 450
// Uses a 2D view of one slice of a volume: the stored value encodes its position.
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0, r32ui) uniform uimage2D image;
layout(set = 0, binding = 1) uniform usampler2D sampled;
void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    uint other = texelFetch(sampled, at, 0).r;
    imageStore(image, at, uvec4(other + 1000u + uint(at.x + 8 * at.y)));
}
