#version 460
//! api 1.2
#extension GL_EXT_ray_tracing : require
#extension GL_GOOGLE_include_directive : require
// Metal: microfacets (GGX) in the light, and a reflection of the room.
#include "studio_lit.glsl"
hitAttributeEXT vec3 normal;
layout(location = 2) rayPayloadEXT vec3 reflection;

void main() {
    const float ROUGH = 0.16;
    vec3 view = -gl_WorldRayDirectionEXT, point = hit_point(), between = normalize(LIGHT + view);
    float nl = max(dot(normal, LIGHT), 0.0), nv = max(dot(normal, view), 0.01);
    float nh = max(dot(normal, between), 0.0);
    float d = nh * nh * (ROUGH - 1.0) + 1.0;
    float facets = ROUGH / (3.14159265 * d * d);
    vec2 masked = vec2(nl, nv) * sqrt(vec2(nv * nv, nl * nl) * (1.0 - ROUGH) + ROUGH);
    float shadowed = 0.5 / (masked.x + masked.y + 0.001);
    float grazing = pow(1.0 - max(dot(view, between), 0.0), 5.0);
    vec3 fresnel = mix(vec3(0.95, 0.75, 0.35), vec3(1), grazing);
    vec3 lit = fresnel * facets * shadowed * nl * light_at(point, normal);
    reflection = vec3(0);
    // No instance has a bit of the mask, so the ray shows a wall.
    vec3 from = point + 0.01 * normal, mirrored = reflect(-view, normal);
    traceRayEXT(scene, gl_RayFlagsOpaqueEXT, 0, 0, 1, 2, from, 0.0, mirrored, 100.0, 2);
    color = lit + reflection * vec3(0.95, 0.75, 0.35) * 0.6;
}
