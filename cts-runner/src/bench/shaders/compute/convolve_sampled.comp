#version 450
// 5x5 convolution from a bilinear clamped sampler to a storage image.
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0) uniform sampler2D source;
layout(binding = 1, rgba8) writeonly uniform image2D target;
layout(std430, binding = 2) readonly buffer Weights { float weights[25]; };
void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    vec2 texel = 1.0 / vec2(textureSize(source, 0)), centre = (vec2(at) + 0.5) * texel;
    vec4 sum = vec4(0.0);
    for (int y = -2; y <= 2; y++)
        for (int x = -2; x <= 2; x++)
            sum += weights[(y + 2) * 5 + x + 2] * textureLod(source, centre + vec2(x, y) * texel, 0.0);
    imageStore(target, at, sum);
}
