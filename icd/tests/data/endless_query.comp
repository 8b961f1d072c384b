#version 460
#extension GL_EXT_ray_query : require
#extension GL_EXT_ray_tracing : require

// Begins its query again whenever the query ends.
layout(local_size_x = 16) in;
layout(push_constant) uniform Push { uvec2 structure; };
layout(binding = 0) buffer Out { uint stop[]; };

void main() {
    rayQueryEXT query;
    do {
        rayQueryInitializeEXT(query, accelerationStructureEXT(structure), gl_RayFlagsNoneEXT, 0xff,
            vec3(0.25, 0.25, -1), 0.0, vec3(0, 0, 1), 9.0);
        while (rayQueryProceedEXT(query)) {
        }
    } while (stop[3] == 0);
}
