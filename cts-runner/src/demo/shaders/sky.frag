#version 450
#extension GL_GOOGLE_include_directive : require
#include "scene.glsl"
layout(location = 0) in vec3 ray;
layout(location = 0) out vec4 color;

float stars(vec2 p, float density) {
    ivec2 cell = ivec2(floor(p));
    float chance = hash2(cell);
    if (chance > density) {
        return 0.0;
    }
    vec2 centre = vec2(hash2(cell + 71), hash2(cell + 193)) * 0.6 + 0.2;
    float d = length(fract(p) - centre);
    return smoothstep(0.16, 0.0, d) * (0.25 + 0.75 * chance / density);
}

void main() {
    vec3 d = normalize(ray);
    vec3 c = haze(d);
    // Directions unrolled on an octahedron: no pole in sight, no trigonometry.
    vec2 o = d.xz / (abs(d.x) + abs(d.y) + abs(d.z));
    float cloud = noise(o * 5.0) * 0.55 + noise(o * 13.0 + 4.0) * 0.3 + noise(o * 31.0 + 9.0) * 0.15;
    float veil = smoothstep(0.45, 0.95, cloud) * smoothstep(-0.05, 0.5, d.y);
    c += veil * mix(vec3(0.10, 0.02, 0.09), vec3(0.02, 0.06, 0.13), noise(o * 3.0 + 2.0));
    float s = stars(o * 90.0, 0.16) + 0.6 * stars(o * 190.0, 0.10);
    c += s * smoothstep(-0.02, 0.2, d.y) * mix(vec3(1.0, 0.8, 0.65), vec3(0.7, 0.85, 1.1), hash2(ivec2(floor(o * 90.0))));
    color = vec4(tone(c), 1.0);
}
