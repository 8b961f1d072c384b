#version 460
//! api 1.2
#extension GL_GOOGLE_include_directive : require
#include "rays.glsl"
#include "rays_shade.glsl"
#include "rays_mesh.glsl"

void main() {
    Object object = objects[gl_InstanceCustomIndexEXT];
    vec3 position = gl_WorldRayOriginEXT + gl_HitTEXT * gl_WorldRayDirectionEXT;
    vec3 color = object.color.rgb;
    float mirror = object.color.a;
    if (object.pattern == 1u) {
        ivec2 tile = ivec2(floor(position.xz * 1.25));
        bool dark = ((tile.x + tile.y) & 1) != 0;
        color *= dark ? 0.22 : 1.0;
    } else if (object.pattern == 2u) {
        ivec2 tuft = ivec2(floor(position.xz * 24.0));
        color *= 0.7 + 0.6 * unit(uint(tuft.x) * 1597u + uint(tuft.y) * 51749u);
    }
    shade(position, smooth_normal(object), color, mirror);
}
