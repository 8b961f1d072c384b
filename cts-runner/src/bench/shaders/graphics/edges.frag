#version 450
// An image editor's edges: a kernel of nine taps a texel apart, as generators write it, of which five have a weight.
layout(set = 0, binding = 0) uniform sampler2D image;
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 result;
void main() {
    vec2 texel = 1.0 / vec2(textureSize(image, 0));
    vec4 sum = texture(image, uv + vec2(-1.0, -1.0) * texel) * 0.0;
    sum += texture(image, uv + vec2(0.0, -1.0) * texel) * 0.25;
    sum += texture(image, uv + vec2(1.0, -1.0) * texel) * 0.0;
    sum += texture(image, uv + vec2(-1.0, 0.0) * texel) * 0.25;
    sum += texture(image, uv) * -1.0;
    sum += texture(image, uv + vec2(1.0, 0.0) * texel) * 0.25;
    sum += texture(image, uv + vec2(-1.0, 1.0) * texel) * 0.0;
    sum += texture(image, uv + vec2(0.0, 1.0) * texel) * 0.25;
    sum += texture(image, uv + vec2(1.0, 1.0) * texel) * 0.0;
    result = vec4(sum.rgb + 0.5, 1.0);
}
