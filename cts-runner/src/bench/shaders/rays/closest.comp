#version 460
//! api 1.2
#extension GL_EXT_ray_query : require
#extension GL_GOOGLE_include_directive : require
// The closest hit of each ray: its distance, which is -1 without a hit, and its triangle.
#include "ray.glsl"
layout(local_size_x = 64) in;
layout(std430, binding = 2) writeonly buffer Hits { uvec2 hits[]; };

void main() {
    uint index = gl_GlobalInvocationID.x;
    rayQueryEXT query;
    BEGIN(query, index, gl_RayFlagsNoneEXT);
    while (rayQueryProceedEXT(query)) {}
    if (rayQueryGetIntersectionTypeEXT(query, true) == gl_RayQueryCommittedIntersectionNoneEXT) {
        hits[index] = uvec2(floatBitsToUint(-1.0), ~0u);
    } else {
        float distance = rayQueryGetIntersectionTEXT(query, true);
        hits[index] = uvec2(floatBitsToUint(distance), uint(rayQueryGetIntersectionPrimitiveIndexEXT(query, true)));
    }
}
