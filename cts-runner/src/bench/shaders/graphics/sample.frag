#version 450
// The mean of four samples a quarter of the texture apart.
layout(set = 0, binding = 0) uniform sampler2D image;
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 result;
void main() {
    vec4 sum = texture(image, uv) + texture(image, uv + vec2(0.25, 0.0));
    sum += texture(image, uv + vec2(0.0, 0.25)) + texture(image, uv + vec2(0.25));
    result = sum * 0.25;
}
