#version 460
//! api 1.2
#extension GL_GOOGLE_include_directive : require
#include "rays.glsl"
#include "rays_shade.glsl"
hitAttributeEXT vec3 outward;

void main() {
    vec3 position = gl_WorldRayOriginEXT + gl_HitTEXT * gl_WorldRayDirectionEXT;
    bool carved = gl_HitKindEXT == 1u;
    uint seed = uint(gl_PrimitiveID) * 3u;
    vec3 color = carved ? vec3(0.78, 0.30, 0.16) : 0.35 + 0.6 * vec3(unit(seed), unit(seed + 1u), unit(seed + 2u));
    shade(position, normalize(mat3(gl_ObjectToWorldEXT) * outward), color, carved ? 0.0 : 0.55);
}
