#version 460
#extension GL_EXT_ray_query : require
#extension GL_EXT_opacity_micromap : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) buffer O { uint o[]; };
layout(set = 0, binding = 1) uniform accelerationStructureEXT scene;
void main() {
  // The centres of the four parts of a triangle, each with four combinations of flags.
  uint i = gl_LocalInvocationIndex;
  const vec2 parts[4] = { vec2(1, 1) / 6, vec2(2, 2) / 6, vec2(4, 1) / 6, vec2(1, 4) / 6 };
  const uint flags[4] = { gl_RayFlagsNoneEXT, gl_RayFlagsForceOpacityMicromap2StateEXT, gl_RayFlagsOpaqueEXT, gl_RayFlagsCullOpaqueEXT };
  rayQueryEXT q;
  rayQueryInitializeEXT(q, scene, flags[i / 4], 0xff, vec3(parts[i % 4], -1), 0.0, vec3(0, 0, 1), 10.0);
  uint seen = 0;
  while (rayQueryProceedEXT(q)) seen = 1;
  if (rayQueryGetIntersectionTypeEXT(q, true) == gl_RayQueryCommittedIntersectionTriangleEXT) seen = 2;
  o[i] = seen;
}
