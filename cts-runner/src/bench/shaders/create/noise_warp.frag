#version 450
#extension GL_GOOGLE_include_directive : require
#include "noise.glsl"
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
void main() {
    vec2 q = vec2(fbm(uv * 3.0, 4), fbm(uv * 3.0 + 5.2, 4));
    vec2 r = vec2(fbm(uv * 3.0 + 2.0 * q + 1.7, 4), fbm(uv * 3.0 + 2.0 * q + 8.3, 4));
    float v = fbm(uv * 3.0 + 2.0 * r, 4);
    color = vec4(mix(mix(vec3(0.1, 0.6, 0.7), vec3(0.7, 0.7, 0.5), 0.5 + v), vec3(0.0, 0.0, 0.2), 0.5 + 0.5 * q.x) + 0.2 * r.x, 1.0);
}
