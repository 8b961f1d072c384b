#version 450
// 5x5 convolution from storage image to storage image, edges clamped.
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0, rgba8) readonly uniform image2D source;
layout(binding = 1, rgba8) writeonly uniform image2D target;
layout(std430, binding = 2) readonly buffer Weights { float weights[25]; };
void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy), last = imageSize(source) - 1;
    vec4 sum = vec4(0.0);
    for (int y = -2; y <= 2; y++)
        for (int x = -2; x <= 2; x++)
            sum += weights[(y + 2) * 5 + x + 2] * imageLoad(source, clamp(at + ivec2(x, y), ivec2(0), last));
    imageStore(target, at, sum);
}
