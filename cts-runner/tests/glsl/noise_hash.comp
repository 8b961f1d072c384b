#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float -20 20
//! output float 1e-3
float hash(vec2 p) { uvec2 q = uvec2(ivec2(p)) * uvec2(1597334677u, 3812015801u); uint n = (q.x ^ q.y) * 1597334677u; return float(n >> 8) / 16777216.0; }
void main() {
    float sum = 0.0, weight = 0.5;
    vec2 p = v().xy;
    for (int k = 0; k < 4; ++k) {
        vec2 c = floor(p), t = smoothstep(0.0, 1.0, p - c);
        sum += weight * mix(mix(hash(c), hash(c + vec2(1, 0)), t.x), mix(hash(c + vec2(0, 1)), hash(c + vec2(1, 1)), t.x), t.y);
        p *= 2.0;
        weight *= 0.5;
    }
    put(vec4(sum, weight, 0.0, 1.0));
}
