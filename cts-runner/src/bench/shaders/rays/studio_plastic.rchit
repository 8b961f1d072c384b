#version 460
//! api 1.2
#extension GL_EXT_ray_tracing : require
#extension GL_GOOGLE_include_directive : require
// Plastic: a diffuse body below a clear coat with Fresnel's reflection (Schlick).
#include "studio_lit.glsl"
hitAttributeEXT vec3 normal;

void main() {
    float facing = max(-dot(normal, gl_WorldRayDirectionEXT), 0.0);
    float fresnel = 0.04 + 0.96 * pow(1.0 - facing, 5.0);
    float light = light_at(hit_point(), normal) * max(dot(normal, LIGHT), 0.0);
    vec3 mirrored = reflect(gl_WorldRayDirectionEXT, normal);
    float highlight = pow(max(dot(mirrored, LIGHT), 0.0), 40.0);
    color = mix(vec3(0.1, 0.5, 0.2) * (0.2 + light), vec3(0.6, 0.7, 0.9), fresnel);
    color += light * highlight * 0.5;
}
