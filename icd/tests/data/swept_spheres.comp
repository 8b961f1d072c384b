#version 460
#extension GL_EXT_ray_query : require
#extension GL_EXT_spirv_intrinsics : require

spirv_instruction(extensions = ["SPV_NV_linear_swept_spheres"], capabilities = [5418, 5419], id = 5438)
bool is_sphere(spirv_by_reference rayQueryEXT query, int committed);
spirv_instruction(extensions = ["SPV_NV_linear_swept_spheres"], capabilities = [5418, 5419], id = 5439)
bool is_lss(spirv_by_reference rayQueryEXT query, int committed);
spirv_instruction(extensions = ["SPV_NV_linear_swept_spheres"], capabilities = [5418, 5419], id = 5427)
vec3 sphere_position(spirv_by_reference rayQueryEXT query, int committed);
spirv_instruction(extensions = ["SPV_NV_linear_swept_spheres"], capabilities = [5418, 5419], id = 5428)
float sphere_radius(spirv_by_reference rayQueryEXT query, int committed);
spirv_instruction(extensions = ["SPV_NV_linear_swept_spheres"], capabilities = [5418, 5419], id = 5429)
vec3[2] lss_positions(spirv_by_reference rayQueryEXT query, int committed);
spirv_instruction(extensions = ["SPV_NV_linear_swept_spheres"], capabilities = [5418, 5419], id = 5430)
float[2] lss_radii(spirv_by_reference rayQueryEXT query, int committed);
spirv_instruction(extensions = ["SPV_NV_linear_swept_spheres"], capabilities = [5418, 5419], id = 5431)
float lss_hit_value(spirv_by_reference rayQueryEXT query, int committed);

layout(local_size_x = 16) in;
layout(binding = 0, std430) buffer Results { uint words[]; };
layout(binding = 1) uniform accelerationStructureEXT scene;

void main() {
    uint at = 32 * gl_GlobalInvocationID.x;
    vec3 origin = vec3(float(gl_GlobalInvocationID.x) * 0.5, 0.0, 10.0);
    rayQueryEXT query;
    rayQueryInitializeEXT(query, scene, 0, 0xff, origin, 0.0, vec3(0.0, 0.0, -1.0), 100.0);
    uint candidates = 0;
    while (rayQueryProceedEXT(query)) {
        candidates += is_sphere(query, 0) ? 1 : is_lss(query, 0) ? 16 : 256;
        candidates += rayQueryGetIntersectionTypeEXT(query, false) << 16;
        rayQueryConfirmIntersectionEXT(query);
    }
    words[at++] = candidates;
    words[at++] = rayQueryGetIntersectionTypeEXT(query, true);
    if (rayQueryGetIntersectionTypeEXT(query, true) == gl_RayQueryCommittedIntersectionNoneEXT) {
        return;
    }
    words[at++] = rayQueryGetIntersectionPrimitiveIndexEXT(query, true);
    words[at++] = floatBitsToUint(rayQueryGetIntersectionTEXT(query, true));
    words[at++] = uint(is_sphere(query, 1)) | uint(is_lss(query, 1)) << 1;
    words[at++] = floatBitsToUint(lss_hit_value(query, 1));
    vec3 position = sphere_position(query, 1);
    words[at++] = floatBitsToUint(position.x);
    words[at++] = floatBitsToUint(position.y);
    words[at++] = floatBitsToUint(position.z);
    words[at++] = floatBitsToUint(sphere_radius(query, 1));
    vec3[2] positions = lss_positions(query, 1);
    for (uint i = 0; i < 6; i++) {
        words[at++] = floatBitsToUint(positions[i / 3][i % 3]);
    }
    float[2] radii = lss_radii(query, 1);
    words[at++] = floatBitsToUint(radii[0]);
    words[at++] = floatBitsToUint(radii[1]);
}
