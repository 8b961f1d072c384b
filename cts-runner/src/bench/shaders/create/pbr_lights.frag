#version 450
#extension GL_GOOGLE_include_directive : require
#include "light.glsl"
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(binding = 0) uniform Lights { vec4 lights[8]; };
void main() {
    Surface s = Surface(vec3(0.7, 0.7, 0.8), step(0.5, uv.x), 0.3 + 0.5 * uv.y, sphere_normal(uv), vec3(0.0, 0.0, 1.0));
    vec3 sum = 0.02 * s.albedo;
    for (int i = 0; i < 8; i++) {
        vec3 d = vec3(lights[i].xy * 4.0 - 2.0, 1.0 + lights[i].z) - vec3(uv * 2.0 - 1.0, 0.0);
        sum += lit(s, normalize(d), (0.5 + 0.5 * lights[i].wzy) * 2.0 / dot(d, d));
    }
    color = vec4(to_srgb(aces(sum)), 1.0);
}
