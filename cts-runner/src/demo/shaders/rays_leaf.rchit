#version 460
//! api 1.2
#extension GL_GOOGLE_include_directive : require
#include "rays.glsl"
#include "rays_shade.glsl"
#include "rays_mesh.glsl"

void main() {
    Object object = objects[gl_InstanceCustomIndexEXT];
    vec3 position = gl_WorldRayOriginEXT + gl_HitTEXT * gl_WorldRayDirectionEXT;
    float tint = unit(uint(gl_PrimitiveID) / 2u);
    shade(position, smooth_normal(object), object.color.rgb * (0.6 + 0.7 * tint) + vec3(0.10 * tint, 0.0, 0.0), 0.0);
}
