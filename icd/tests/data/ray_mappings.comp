#version 460
#extension GL_EXT_ray_query : require
layout(local_size_x = 12) in;

// Traces a ray query for each invocation, along the third axis. Two invocations one after the other
// trace in structures of which the addresses come from push data and from memory.
layout(binding = 0) buffer Out { uvec4 results[]; };
layout(binding = 1) uniform accelerationStructureEXT pushed;
layout(binding = 2) uniform accelerationStructureEXT indirect;

#define BEGIN(scene) \
    rayQueryInitializeEXT(query, scene, gl_RayFlagsOpaqueEXT, 0xff, origin, 0.0, vec3(0, 0, 1), 100.0)

void main() {
    uint i = gl_GlobalInvocationID.x;
    vec3 origin = vec3(i / 2 + 0.25, 0.25, -1);
    rayQueryEXT query;
    if (i % 2 == 0) BEGIN(pushed);
    else BEGIN(indirect);
    while (rayQueryProceedEXT(query)) {}
    results[i] = uvec4(rayQueryGetIntersectionTypeEXT(query, true), i, 0, 0);
}
