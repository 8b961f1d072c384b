#version 460
//! api 1.2
#extension GL_EXT_ray_query : require
#extension GL_GOOGLE_include_directive : require
#include "rays.glsl"
#include "rays_trace.glsl"
layout(location = 0) out vec4 color;

void main() {
    vec3 origin, direction;
    camera(uvec2(gl_FragCoord.xy), origin, direction);
    rayQueryEXT query;
    closest(query, origin, direction, gl_RayFlagsNoneEXT);
    if (rayQueryGetIntersectionTypeEXT(query, true) == gl_RayQueryCommittedIntersectionNoneEXT) {
        color = vec4(0.1, 0.2, 0.4, 1.0);
        return;
    }
    uint seed = mixed(uint(rayQueryGetIntersectionPrimitiveIndexEXT(query, true)));
    vec3 base = vec3(seed & 255u, seed >> 8u & 255u, seed >> 16u & 255u) / 255.0;
    vec3 position = origin + rayQueryGetIntersectionTEXT(query, true) * direction;
    vec3 light = vec3(2.0, 9.0, 3.0) - position;
    rayQueryEXT shadow;
    closest(shadow, position + 0.01 * light, light, gl_RayFlagsTerminateOnFirstHitEXT);
    bool dark = rayQueryGetIntersectionTypeEXT(shadow, true) != gl_RayQueryCommittedIntersectionNoneEXT;
    color = vec4(base * (dark ? 0.3 : 1.0), 1.0);
}
