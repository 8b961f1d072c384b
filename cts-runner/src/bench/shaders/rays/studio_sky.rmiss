#version 460
//! api 1.2
#extension GL_EXT_ray_tracing : require
#extension GL_GOOGLE_include_directive : require
// The sky: scattered light, and the sun with its halo.
#include "studio.glsl"
layout(location = 0) rayPayloadInEXT vec3 color;

void main() {
    vec3 direction = gl_WorldRayDirectionEXT;
    float up = clamp(direction.y * 0.5 + 0.5, 0.0, 1.0), sun = max(dot(direction, LIGHT), 0.0);
    vec3 scattered = exp(-vec3(1.1, 0.7, 0.35) / (0.3 + up)) * vec3(0.5, 0.8, 1.4);
    color = scattered + vec3(1.0, 0.8, 0.5) * (pow(sun, 8.0) * 0.3 + step(0.999, sun) * 10.0);
}
