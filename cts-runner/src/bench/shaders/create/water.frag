#version 450
#extension GL_GOOGLE_include_directive : require
#include "noise.glsl"
#include "light.glsl"
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
float height(vec2 p) {
    float h = 0.0;
    for (int i = 0; i < 5; i++) {
        float a = float(i) * 1.1, k = 2.0 + float(i) * 1.3;
        h += sin(dot(p, vec2(cos(a), sin(a))) * k + float(i)) / k;
    }
    return h * 0.3 + 0.05 * perlin(p * 4.0);
}
void main() {
    vec2 p = uv * 6.0;
    float e = 0.02, h = height(p);
    vec3 n = normalize(vec3(h - height(p + vec2(e, 0.0)), h - height(p + vec2(0.0, e)), e));
    vec3 v = normalize(vec3(0.0, -0.7, 0.8)), r = reflect(-v, n);
    float f = 0.02 + 0.98 * pow(1.0 - max(dot(n, v), 0.0), 5.0);
    vec3 sky = mix(vec3(0.5, 0.6, 0.7), vec3(0.2, 0.4, 0.8), clamp(r.z, 0.0, 1.0));
    color = vec4(aces(mix(vec3(0.0, 0.15, 0.2), sky, f) + 0.2 * smoothstep(0.1, 0.3, h)), 1.0);
}
