#version 450
#extension GL_GOOGLE_include_directive : require
#include "noise.glsl"
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
void main() {
    vec2 p = vec2(uv.x * 2.4 - 1.2, uv.y * 2.0 - 0.4);
    float n = fbm(p * vec2(1.0, 0.7) + vec2(0.0, -2.0), 5);
    float c = 1.0 - 8.0 * pow(max(0.0, length(p * vec2(0.9 + p.y * 0.7, 0.35)) - n * max(0.0, p.y + 0.25)), 1.2);
    float b = clamp(1.5 * c, 0.0, 1.0);
    color = vec4(1.5 * b, 1.5 * b * b * b, b * b * b * b * b * b, 1.0);
}
