#version 460
#extension GL_EXT_ray_query : require
#extension GL_EXT_nonuniform_qualifier : require
layout(local_size_x = 48) in;
layout(set = 0, binding = 0) buffer O { uvec4 o[]; };
layout(set = 0, binding = 1) uniform accelerationStructureEXT scenes[4];
rayQueryEXT queries[3];
void main() {
  uint i = gl_GlobalInvocationID.x;
  // Of four structures the second is a null descriptor. Queries with an even sum are not initialized.
  for (uint k = 0; k < 3; k++) {
    if ((i + k) % 2 == 1) {
      rayQueryInitializeEXT(queries[k], scenes[nonuniformEXT(i % 4)], gl_RayFlagsOpaqueEXT, 0xff, vec3(float(i / 8) + 0.25, 0.25, -1.0), 0.0, vec3(0, 0, 1), 100.0);
    }
  }
  uint k = i % 3;
  uint candidates = 0;
  while (rayQueryProceedEXT(queries[k])) candidates++;
  uint kind = rayQueryGetIntersectionTypeEXT(queries[k], true);
  o[i] = uvec4(candidates, kind, rayQueryGetIntersectionInstanceCustomIndexEXT(queries[k], true), floatBitsToUint(rayQueryGetIntersectionTEXT(queries[k], true)));
}
