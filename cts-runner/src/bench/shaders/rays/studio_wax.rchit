#version 460
//! api 1.2
#extension GL_EXT_ray_tracing : require
#extension GL_GOOGLE_include_directive : require
// Wax: light that wraps around the body, in three steps, and a rim.
#include "studio_lit.glsl"
hitAttributeEXT vec3 normal;

void main() {
    float wrapped = (dot(normal, LIGHT) + 0.5) / 1.5;
    float light = mix(0.4, 1.0, light_at(hit_point(), normal)) * clamp(wrapped, 0.0, 1.0);
    float level = light < 0.25 ? 0.25 : light < 0.5 ? 0.5 : 0.9;
    float rim = pow(1.0 + dot(normal, gl_WorldRayDirectionEXT), 3.0);
    vec3 hue = vec3(0.9, 0.6, 0.3);
    color = hue * mix(light, level, 0.5) + max(rim, 0.0) * 0.4 * hue.zyx;
}
