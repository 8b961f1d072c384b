#version 460
//! api 1.2
#extension GL_EXT_ray_tracing : require
#extension GL_GOOGLE_include_directive : require
// Tiles of two colours, with a highlight (Blinn and Phong).
#include "studio_lit.glsl"

void main() {
    vec3 point = hit_point(), normal = vec3(0, 0, -1);
    vec2 at = (point - place(gl_GeometryIndexEXT, 0.8)).xy * 2.0;
    bool dark = (int(floor(at.x + 0.05)) + int(floor(at.y + 0.05)) & 1) == 1;
    vec3 albedo = dark ? vec3(0.05, 0.1, 0.3) : vec3(0.8, 0.8, 0.7);
    vec3 between = normalize(LIGHT - gl_WorldRayDirectionEXT);
    float light = light_at(point, normal);
    float highlight = pow(max(dot(between, normal), 0.0), 24.0);
    color = albedo * (0.2 + light * max(dot(normal, LIGHT), 0.0)) + light * highlight * 0.4;
}
