#version 450
// Nine taps of a Gaussian along one axis in five samples; `next` is the step to the next texel.
layout(push_constant) uniform Push { vec2 next; };
layout(set = 0, binding = 0) uniform sampler2D image;
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 result;
void main() {
    vec4 sum = texture(image, uv) * 0.25;
    sum += (texture(image, uv + next * 1.375) + texture(image, uv - next * 1.375)) * 0.3125;
    sum += (texture(image, uv + next * 3.25) + texture(image, uv - next * 3.25)) * 0.0625;
    result = sum;
}
