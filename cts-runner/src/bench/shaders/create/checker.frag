#version 450
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
void main() {
    vec2 p = uv * 3.0 + 0.1, w = max(fwidth(p), 1e-4);
    vec2 i = 2.0 * (abs(fract((p - 0.5 * w) / 2.0) - 0.5) - abs(fract((p + 0.5 * w) / 2.0) - 0.5)) / w;
    color = vec4(vec3(0.5 - 0.5 * i.x * i.y), 1.0);
}
