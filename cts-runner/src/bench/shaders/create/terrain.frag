#version 450
#extension GL_GOOGLE_include_directive : require
#include "noise.glsl"
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
float ground(vec2 p) { return 0.8 * fbm(p * 0.7, 6); }
void main() {
    vec3 o = vec3(0.0, 0.8, 0.0), d = normalize(vec3(uv.x * 2.0 - 1.0, uv.y * 1.2 - 0.9, 1.3));
    float t = 0.1;
    for (int i = 0; i < 48; i++) {
        vec3 p = o + d * t;
        float h = p.y - ground(p.xz);
        if (h < 0.003 * t || t > 10.0) break;
        t += 0.45 * h;
    }
    vec3 sky = mix(vec3(0.8, 0.8, 0.75), vec3(0.3, 0.5, 0.8), uv.y), p = o + d * t;
    vec2 e = vec2(0.02, 0.0);
    vec3 n = normalize(vec3(ground(p.xz - e) - ground(p.xz + e), 2.0 * e.x, ground(p.xz - e.yx) - ground(p.xz + e.yx)));
    vec3 base = mix(vec3(0.3, 0.25, 0.2), vec3(0.2, 0.4, 0.1), smoothstep(0.7, 0.9, n.y));
    vec3 shade = base * (0.3 + max(dot(n, normalize(vec3(0.6, 0.6, -0.4))), 0.0));
    color = vec4(t > 10.0 ? sky : mix(shade, sky, 1.0 - exp(-0.15 * t)), 1.0);
}
