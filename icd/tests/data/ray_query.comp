#version 460
#extension GL_EXT_ray_query : require
#extension GL_EXT_ray_tracing : enable
layout(local_size_x = 16) in;
layout(push_constant) uniform P { uvec2 structure; } p;
layout(set = 0, binding = 0) buffer O { uvec4 o[]; };
void main() {
  uint i = gl_GlobalInvocationID.x;
  rayQueryEXT q;
  rayQueryInitializeEXT(q, accelerationStructureEXT(p.structure), gl_RayFlagsOpaqueEXT, 0xff, vec3(float(i) + 0.25, 0.25, -1.0), 0.0, vec3(0, 0, 1), 100.0);
  while (rayQueryProceedEXT(q)) {}
  uint kind = rayQueryGetIntersectionTypeEXT(q, true);
  if (kind == gl_RayQueryCommittedIntersectionTriangleEXT)
    o[i] = uvec4(kind, rayQueryGetIntersectionPrimitiveIndexEXT(q, true), rayQueryGetIntersectionInstanceCustomIndexEXT(q, true), floatBitsToUint(rayQueryGetIntersectionTEXT(q, true)));
  else
    o[i] = uvec4(kind, 7, 7, 7);
}
