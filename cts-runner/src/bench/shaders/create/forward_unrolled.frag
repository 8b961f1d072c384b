#version 450
#extension GL_GOOGLE_include_directive : require
#include "light.glsl"
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
// Twelve lights of a forward renderer, unrolled and inlined as an engine's shader generator writes them.
layout(binding = 0) uniform sampler2D albedo;
layout(binding = 1) uniform sampler2D shadows;
layout(binding = 2) uniform Frame { vec4 places[12]; vec4 colors[12]; vec4 cones[12]; };
#define LIGHT(i) { \
    vec3 d = vec3(places[i].xy * 4.0 - 2.0, 0.8 + places[i].z) - at, l = normalize(d), h = normalize(l + v); \
    float n_l = max(dot(n, l), 0.0), n_h = max(dot(n, h), 0.0), v_h = max(dot(v, h), 0.0); \
    float a2 = rough * rough * rough * rough, q = n_h * n_h * (a2 - 1.0) + 1.0; \
    float k = (rough + 1.0) * (rough + 1.0) / 8.0; \
    float g = 1.0 / ((n_v * (1.0 - k) + k) * (n_l * (1.0 - k) + k)); \
    vec3 f = f0 + (1.0 - f0) * pow(1.0 - v_h, 5.0); \
    float cone = smoothstep(0.2 * cones[i].x, 0.5 + 0.5 * cones[i].y, dot(l, normalize(cones[i].xyz + vec3(0.0, 0.0, 1.0)))); \
    float shade = smoothstep(-0.3, 0.3, texture(shadows, uv * (0.5 + 0.05 * float(i)) + l.xy * 0.1).r - 0.4); \
    sum += ((1.0 - f) * base / PI + f * (a2 / (PI * q * q)) * g * 0.25) * colors[i].rgb * n_l * cone * (0.4 + 0.6 * shade) * 3.0 / dot(d, d); \
}
void main() {
    vec3 n = sphere_normal(uv), v = vec3(0.0, 0.0, 1.0), at = vec3(uv * 2.0 - 1.0, 0.0), base = texture(albedo, uv).rgb;
    float rough = 0.3 + 0.5 * uv.x, n_v = max(dot(n, v), 1e-3);
    vec3 f0 = mix(vec3(0.04), base, uv.y), sum = 0.02 * base;
    LIGHT(0)
    LIGHT(1)
    LIGHT(2)
    LIGHT(3)
    LIGHT(4)
    LIGHT(5)
    LIGHT(6)
    LIGHT(7)
    LIGHT(8)
    LIGHT(9)
    LIGHT(10)
    LIGHT(11)
    color = vec4(to_srgb(aces(sum)), 1.0);
}
