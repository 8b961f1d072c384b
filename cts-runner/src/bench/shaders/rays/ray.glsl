// A ray as origin, least distance, direction and greatest distance.
layout(binding = 0) uniform accelerationStructureEXT scene;
layout(std430, binding = 1) readonly buffer Rays { vec4 rays[]; };

// Begins the query of a ray against opaque geometry.
#define BEGIN(query, index, flags) rayQueryInitializeEXT(query, scene, gl_RayFlagsOpaqueEXT | (flags), 0xff, \
    rays[2 * (index)].xyz, rays[2 * (index)].w, rays[2 * (index) + 1].xyz, rays[2 * (index) + 1].w)

// Whether nothing lies between the two ends of a ray.
bool lit(uint index) {
    rayQueryEXT query;
    BEGIN(query, index, gl_RayFlagsTerminateOnFirstHitEXT);
    while (rayQueryProceedEXT(query)) {}
    return rayQueryGetIntersectionTypeEXT(query, true) == gl_RayQueryCommittedIntersectionNoneEXT;
}
