#version 450
#extension GL_GOOGLE_include_directive : require
#include "light.glsl"
#include "noise.glsl"
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
// Clear coat, sheen, anisotropy, subsurface tint, emission, shadow of 16 taps, 8 lights, fog: what an engine puts in one shader.
layout(binding = 0) uniform sampler2D albedo;
layout(binding = 1) uniform sampler2D normals;
layout(binding = 2) uniform sampler2D shadows;
layout(binding = 3) uniform Frame { vec4 lights[8]; vec4 colors[8]; vec4 coat; vec4 sheen; vec4 fog; mat4 shadow_matrix; };
float anisotropic(vec3 h, vec3 n, vec3 t, vec3 b, float ax, float ay) {
    float x = dot(h, t) / ax, y = dot(h, b) / ay, z = dot(h, n);
    float d = x * x + y * y + z * z;
    return 1.0 / (PI * ax * ay * d * d);
}
float charlie(float n_h, float rough) {
    float inv = 1.0 / rough, s2 = max(1.0 - n_h * n_h, 0.0078);
    return (2.0 + inv) * pow(s2, inv * 0.5) / (2.0 * PI);
}
float shadowed(vec2 at, float depth) {
    float sum = 0.0;
    for (int i = 0; i < 16; i++) {
        float a = float(i) * 2.3999632, r = sqrt((float(i) + 0.5) / 16.0) * 0.06;
        sum += smoothstep(-0.2, 0.2, texture(shadows, at + r * vec2(cos(a), sin(a))).r - depth);
    }
    return sum / 16.0;
}
void main() {
    vec3 g = sphere_normal(uv), t = normalize(vec3(g.z, 0.0, -g.x)), b = cross(g, t), v = vec3(0.0, 0.0, 1.0);
    vec3 bent = texture(normals, uv).xyz * 2.0 - 1.0;
    vec3 n = normalize(g + 0.2 * (bent.x * t + bent.y * b));
    vec3 base = texture(albedo, uv).rgb * (0.8 + 0.2 * fbm(uv * 6.0, 3));
    float rough = 0.3 + 0.3 * uv.x, metal = smoothstep(0.3, 0.7, uv.y);
    Surface s = Surface(base, metal, rough, n, v);
    vec4 at = shadow_matrix * vec4(uv, 0.0, 1.0);
    float visible = shadowed(at.xy / (at.w + 1.0), 0.4);
    vec3 sum = vec3(0.0);
    for (int i = 0; i < 8; i++) {
        vec3 d = vec3(lights[i].xy * 4.0 - 2.0, 0.8 + lights[i].z) - vec3(uv * 2.0 - 1.0, 0.0), l = normalize(d);
        vec3 h = normalize(l + v), radiance = (0.3 + 0.7 * colors[i].rgb) / dot(d, d);
        float n_l = max(dot(n, l), 0.0), n_h = max(dot(n, h), 0.0);
        sum += lit(s, l, radiance);
        sum += radiance * n_l * 0.1 * anisotropic(h, n, t, b, 0.1 + rough, 0.4 + rough);
        sum += radiance * n_l * sheen.rgb * 0.2 * charlie(n_h, 0.3 + 0.5 * sheen.a);
        float coat_f = 0.04 + 0.96 * pow(1.0 - max(dot(v, h), 0.0), 5.0);
        sum = sum * (1.0 - 0.5 * coat.x * coat_f) + radiance * coat.x * coat_f * ggx(max(dot(g, h), 0.0), 0.15) * 0.05;
        float wrap = max((dot(n, l) + 0.5) / 1.5, 0.0);
        sum += base * vec3(0.3, 0.1, 0.05) * wrap * radiance * (1.0 - metal);
    }
    sum *= 0.3 + 0.7 * visible;
    float far = 1.0 - exp(-2.0 * uv.y * fog.x);
    color = vec4(to_srgb(aces(mix(sum, vec3(0.5, 0.6, 0.7), far * 0.4))), 1.0);
}
