#version 450
#extension GL_GOOGLE_include_directive : require
#include "hash.glsl"
// One small triangle per three vertices. Each vertex: four of 64 bones, eight lights, four octaves of value noise.
layout(set = 0, binding = 0) uniform Scene { vec4 bones[192]; vec4 lights[8]; };
layout(location = 0) flat out vec4 color;

const uint CELLS = 314u;
const float SIZE = 3.25;

vec3 skin(vec3 p, uint seed) {
    vec3 sum = vec3(0.0);
    float weights = 0.0;
    for (uint k = 0u; k < 4u; k++) {
        uint bone = hash(seed + 16u + k) & 63u;
        float weight = unit(seed + 32u + k) + 0.25;
        vec4 v = vec4(p, 1.0);
        sum += weight * vec3(dot(bones[bone * 3u], v), dot(bones[bone * 3u + 1u], v), dot(bones[bone * 3u + 2u], v));
        weights += weight;
    }
    return sum / weights;
}

float corner(ivec3 c) { return unit(uint(c.x) + uint(c.y) * 157u + uint(c.z) * 7919u); }

float noise(vec3 p) {
    vec3 f = floor(p), t = p - f;
    ivec3 c = ivec3(f);
    t = t * t * (3.0 - 2.0 * t);
    float x00 = mix(corner(c), corner(c + ivec3(1, 0, 0)), t.x);
    float x10 = mix(corner(c + ivec3(0, 1, 0)), corner(c + ivec3(1, 1, 0)), t.x);
    float x01 = mix(corner(c + ivec3(0, 0, 1)), corner(c + ivec3(1, 0, 1)), t.x);
    float x11 = mix(corner(c + ivec3(0, 1, 1)), corner(c + ivec3(1, 1, 1)), t.x);
    return mix(mix(x00, x10, t.y), mix(x01, x11, t.y), t.z);
}

void main() {
    uint vertex = uint(gl_VertexIndex), triangle = vertex / 3u, which = vertex - triangle * 3u;
    vec2 cell = vec2(triangle % CELLS, triangle / CELLS) * SIZE + 0.0625;
    vec2 at = cell + SIZE * vec2(which == 1u, which == 2u);
    gl_Position = vec4(at * (1.0 / 512.0) - 1.0, 0.0, 1.0);

    uint seed = vertex * 64u;
    vec3 p = vec3(unit(seed), unit(seed + 1u), unit(seed + 2u)) * 2.0 - 1.0;
    vec3 n = normalize(skin(p, seed));
    float light = 0.0;
    for (int i = 0; i < 8; i++) {
        float d = max(dot(n, lights[i].xyz), 0.0), s = d * d;
        s *= s; s *= s;
        light += lights[i].w * (0.6 * d + 0.4 * s);
    }
    float sum = 0.0, scale = 0.5;
    vec3 q = p * 4.0 + 8.0;
    for (int i = 0; i < 4; i++) {
        sum += scale * noise(q);
        q = q * 2.0 + 3.5;
        scale *= 0.5;
    }
    color = vec4(light, sum, n.z * 0.5 + 0.5, 1.0);
}
