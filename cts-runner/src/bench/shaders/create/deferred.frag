#version 450
#extension GL_GOOGLE_include_directive : require
#include "light.glsl"
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(binding = 0) uniform sampler2D albedo;
layout(binding = 1) uniform sampler2D normals;
layout(binding = 2) uniform sampler2D depths;
layout(binding = 3) uniform Lights { vec4 lights[64]; };
vec3 decode(vec2 e) {
    vec3 n = vec3(e, 1.0 - abs(e.x) - abs(e.y));
    vec2 fold = (1.0 - abs(n.yx)) * vec2(n.x >= 0.0 ? 1.0 : -1.0, n.y >= 0.0 ? 1.0 : -1.0);
    n.xy = n.z < 0.0 ? fold : n.xy;
    return normalize(n);
}
void main() {
    vec4 base = texture(albedo, uv);
    vec3 n = decode(texture(normals, uv).rg * 0.8 - 0.4), p = vec3(uv * 4.0 - 2.0, texture(depths, uv).r);
    Surface s = Surface(base.rgb, 0.1, 0.3 + 0.5 * base.a, n, vec3(0.0, 0.0, 1.0));
    vec3 sum = 0.03 * base.rgb;
    for (int i = 0; i < 32; i++) {
        vec3 d = vec3(lights[2 * i].xy * 4.0 - 2.0, 1.5) - p;
        float range = 0.5 + 2.0 * lights[2 * i].w, r2 = dot(d, d);
        if (r2 > range * range) continue;
        float fall = 1.0 - r2 / (range * range);
        sum += lit(s, normalize(d), lights[2 * i + 1].rgb * fall * fall);
    }
    color = vec4(to_srgb(aces(sum)), 1.0);
}
