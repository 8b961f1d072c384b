#version 450
#extension GL_GOOGLE_include_directive : require
#include "noise.glsl"
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
void main() {
    vec2 p = uv * 5.0;
    ivec2 i = ivec2(floor(p)), best = ivec2(0);
    vec2 nearest = vec2(0.0);
    float least = 8.0;
    for (int y = -1; y <= 1; y++)
        for (int x = -1; x <= 1; x++) {
            vec2 d = vec2(i + ivec2(x, y)) + unit2(hash(i + ivec2(x, y))) - p;
            if (dot(d, d) < least) {
                least = dot(d, d);
                nearest = d;
                best = ivec2(x, y);
            }
        }
    float border = 8.0;
    for (int y = -2; y <= 2; y++)
        for (int x = -2; x <= 2; x++) {
            ivec2 cell = best + ivec2(x, y);
            vec2 d = vec2(i + cell) + unit2(hash(i + cell)) - p, e = d - nearest;
            if (dot(e, e) > 1e-4) border = min(border, dot(0.5 * (nearest + d), normalize(e)));
        }
    color = vec4(vec3(smoothstep(0.02, 0.3, border)) * vec3(unit2(hash(i + best)), 0.5), 1.0);
}
