#version 450
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256) in;
layout(std430, binding = 0) writeonly buffer Out { uint pixels[256]; };
#include "noise.glsl"
struct Particle { vec4 position; vec4 velocity; };
layout(std430, binding = 1) readonly buffer X { Particle before[]; };
layout(push_constant) uniform Push { vec4 wind; float dt; };
vec2 curl(vec2 p) {
    const float e = 0.1;
    return vec2(perlin(p + vec2(0.0, e)) - perlin(p - vec2(0.0, e)), perlin(p - vec2(e, 0.0)) - perlin(p + vec2(e, 0.0))) / (2.0 * e);
}
void main() {
    Particle p = before[gl_LocalInvocationIndex];
    for (int i = 0; i < 4; i++) {
        vec2 flow = curl(p.position.xy * 3.0) + 0.1 * wind.xy;
        p.velocity.xy += (flow - p.velocity.xy) * 0.2 * dt;
        p.velocity.y -= 0.1 * dt;
        p.position.xyz += p.velocity.xyz * 0.05;
        if (p.position.y < 0.0) {
            p.position.y = -p.position.y;
            p.velocity.y *= -0.7;
        }
        p.position.w -= 0.02;
    }
    pixels[gl_LocalInvocationIndex] = packUnorm4x8(vec4(fract(p.position.xyz * 0.45), 1.0));
}
