#version 450
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(binding = 0) uniform sampler2D image;
void main() {
    vec2 p = uv * 2.0 - 1.0;
    p *= 1.0 + 0.08 * dot(p, p);
    vec2 at = p * 0.5 + 0.5;
    vec3 c = vec3(texture(image, at + vec2(0.01, 0.0)).r, texture(image, at).g, texture(image, at - vec2(0.01, 0.0)).b);
    c *= 0.85 + 0.15 * sin(at.y * 25.0);
    float vignette = 16.0 * at.x * at.y * (1.0 - at.x) * (1.0 - at.y);
    color = vec4(any(greaterThan(abs(p), vec2(1.05))) ? vec3(0.0) : c * pow(clamp(vignette, 0.0, 1.0), 0.2), 1.0);
}
