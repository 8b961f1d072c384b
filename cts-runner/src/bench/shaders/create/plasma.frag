#version 450
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
void main() {
    vec2 p = uv * 8.0;
    float v = sin(p.x) + sin(p.y + 1.0) + sin((p.x + p.y) * 0.7) + sin(length(p - 4.0) * 1.3);
    color = vec4(0.5 + 0.5 * sin(v * 1.57 + vec3(0.0, 2.1, 4.2)), 1.0);
}
