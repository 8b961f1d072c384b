#version 450
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(binding = 0) uniform sampler2D heights;
layout(binding = 1) uniform sampler2D image;
void main() {
    vec2 step = vec2(0.3, 0.2) / 16.0, at = uv;
    float layer = 0.0, here = textureLod(heights, at, 0.0).r, before = here;
    for (int i = 0; i < 16 && layer < here; i++) {
        at -= step * 0.3;
        before = here;
        here = textureLod(heights, at, 0.0).r;
        layer += 1.0 / 16.0;
    }
    float a = here - layer, b = before - layer + 1.0 / 16.0;
    at += step * 0.3 * clamp(a / (a - b - 1e-3), 0.0, 1.0);
    color = textureLod(image, at, 0.0) * (0.5 + 0.5 * layer);
}
