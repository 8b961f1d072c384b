#version 450
#extension GL_GOOGLE_include_directive : require
#include "light.glsl"
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(binding = 0) uniform sampler2D depths;
float depth(vec2 at) { return texture(depths, at).r; }
void main() {
    vec3 n = sphere_normal(uv);
    float edge = 0.0;
    for (int y = -1; y <= 1; y++)
        for (int x = -1; x <= 1; x++) edge += (x == 0 && y == 0 ? 8.0 : -1.0) * depth(uv + vec2(x, y) / 64.0);
    float l = floor(max(dot(n, normalize(vec3(0.6, 0.8, 0.7))), 0.0) * 4.0 + 0.37) / 4.0;
    float hatch = mod(floor(uv.x * 8.0) + floor(uv.y * 8.0), 2.0);
    vec3 base = l < 0.3 ? mix(vec3(0.3), vec3(0.5, 0.3, 0.3), hatch) : vec3(0.9, 0.7, 0.5) * l;
    color = vec4(base * (1.0 - clamp(abs(edge), 0.0, 1.0)), 1.0);
}
