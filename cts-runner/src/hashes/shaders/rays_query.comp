#version 460
//! api 1.2
#extension GL_EXT_ray_query : require
#extension GL_GOOGLE_include_directive : require
#include "rays.glsl"
#include "rays_trace.glsl"
layout(local_size_x = 8, local_size_y = 8) in;
layout(std430, binding = 1) writeonly buffer Results { uvec4 results[]; };

void main() {
    vec3 origin, direction;
    camera(gl_GlobalInvocationID.xy, origin, direction);
    rayQueryEXT query;
    closest(query, origin, direction, gl_RayFlagsNoneEXT);
    uint index = 2u * (gl_GlobalInvocationID.y * 64u + gl_GlobalInvocationID.x);
    uint type = rayQueryGetIntersectionTypeEXT(query, true);
    if (type == gl_RayQueryCommittedIntersectionNoneEXT) {
        results[index] = uvec4(0u);
        results[index + 1u] = uvec4(0u);
        return;
    }
    bool triangle = type == gl_RayQueryCommittedIntersectionTriangleEXT;
    vec2 corner = triangle ? rayQueryGetIntersectionBarycentricsEXT(query, true) : vec2(0.0);
    bool front = triangle && rayQueryGetIntersectionFrontFaceEXT(query, true);
    vec3 inside = rayQueryGetIntersectionObjectRayDirectionEXT(query, true);
    results[index] = uvec4(type, floatBitsToUint(rayQueryGetIntersectionTEXT(query, true)),
        uint(rayQueryGetIntersectionInstanceIdEXT(query, true)), uint(rayQueryGetIntersectionPrimitiveIndexEXT(query, true)));
    results[index + 1u] = uvec4(floatBitsToUint(corner), uint(front), floatBitsToUint(inside.x + inside.y + inside.z));
}
