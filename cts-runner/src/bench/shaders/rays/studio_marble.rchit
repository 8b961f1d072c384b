#version 460
//! api 1.2
#extension GL_EXT_ray_tracing : require
#extension GL_GOOGLE_include_directive : require
// Marble: veins where the sum of four octaves of noise is near a multiple of pi.
#include "studio_lit.glsl"

float corner(ivec3 at) {
    uvec3 mixed = uvec3(at) * uvec3(0x9e3779b9u, 0x85ebca6bu, 0xc2b2ae35u);
    uint n = mixed.x ^ mixed.y ^ mixed.z;
    n = (n ^ n >> 15) * 0x2c1b3c6du;
    n = (n ^ n >> 12) * 0x297a2d39u;
    return float((n ^ n >> 15) >> 8) / 16777216.0;
}

float noise(vec3 at) {
    ivec3 cell = ivec3(floor(at));
    vec3 part = at - vec3(cell), f = part * part * (3.0 - 2.0 * part);
    float sum = 0.0;
    for (int i = 0; i < 8; ++i) {
        ivec3 by = ivec3(i & 1, i >> 1 & 1, i >> 2);
        vec3 share = mix(1.0 - f, f, vec3(by));
        sum += corner(cell + by) * share.x * share.y * share.z;
    }
    return sum;
}

void main() {
    vec3 point = hit_point(), normal = vec3(0, 0, -1);
    float sum = 0.0, weight = 0.5;
    vec3 at = point * 1.5;
    for (int octave = 0; octave < 4; ++octave) {
        sum += weight * noise(at);
        at *= 2.0;
        weight *= 0.5;
    }
    float vein = 1.0 - abs(sin(point.x * 2.0 + sum * 5.0));
    float light = 0.25 + light_at(point, normal) * max(dot(normal, LIGHT), 0.0);
    color = mix(vec3(0.85, 0.85, 0.8), vec3(0.2, 0.25, 0.3), vein * vein) * light;
}
