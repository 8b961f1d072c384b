#version 460
//! api 1.2
#extension GL_EXT_ray_tracing : require
#extension GL_GOOGLE_include_directive : require
#include "rays.glsl"
#include "rays_path.glsl"
layout(location = 0) rayPayloadInEXT Path path;
layout(location = 1) rayPayloadEXT Path next;
layout(location = 0) callableDataEXT uint shuffled;
hitAttributeEXT vec2 corner;

void main() {
    shuffled = uint(gl_PrimitiveID) + path.hits;
    executeCallableEXT(0, 0);
    path.hits = mixed(shuffled + uint(gl_InstanceID) * 131u + uint(gl_HitKindEXT) * 65537u);
    path.sum += vec3(corner, gl_HitTEXT);
    if (path.depth < 6u) {
        vec3 position = gl_WorldRayOriginEXT + gl_HitTEXT * gl_WorldRayDirectionEXT;
        vec3 away = vec3(1.0, -1.0, 1.0) * gl_WorldRayDirectionEXT;
        away += vec3(path.hits & 255u, path.hits >> 8u & 255u, path.hits >> 16u & 255u) / 512.0;
        next = Path(path.sum, path.hits, path.depth + 1u);
        traceRayEXT(scene, gl_RayFlagsNoneEXT, 0xff, 0, 0, 0, position + 0.01 * away, 0.0, away, 100.0, 1);
        path.sum = next.sum;
        path.hits = next.hits;
    }
}
