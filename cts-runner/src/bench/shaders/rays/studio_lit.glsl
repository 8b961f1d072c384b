// Shading of a point that the ray has hit.
#include "studio.glsl"
layout(location = 0) rayPayloadInEXT vec3 color;
layout(location = 1) rayPayloadEXT float visible;

vec3 hit_point() { return gl_WorldRayOriginEXT + gl_HitTEXT * gl_WorldRayDirectionEXT; }

// Returns 1 if nothing lies between a point and the light, else 0.
float light_at(vec3 point, vec3 normal) {
    visible = 0.0;
    uint flags = gl_RayFlagsTerminateOnFirstHitEXT | gl_RayFlagsSkipClosestHitShaderEXT;
    traceRayEXT(scene, flags, 0xff, 0, 1, 1, point + 0.01 * normal, 0.0, LIGHT, 100.0, 1);
    return visible;
}
