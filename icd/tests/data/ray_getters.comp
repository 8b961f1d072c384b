#version 460
#extension GL_EXT_ray_query : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) buffer O { uint o[]; };
layout(set = 0, binding = 1) uniform accelerationStructureEXT scene;
uint at;
void word(uint w) { o[at++] = w; }
void number(float f) { word(floatBitsToUint(f)); }
void vector(vec3 v) { number(v.x); number(v.y); number(v.z); }
void matrix(mat4x3 m) { vector(m[0]); vector(m[1]); vector(m[2]); vector(m[3]); }
void main() {
  at = gl_GlobalInvocationID.x * 100;
  rayQueryEXT q;
  rayQueryInitializeEXT(q, scene, gl_RayFlagsNoOpaqueEXT, 0xff, vec3(float(gl_GlobalInvocationID.x) + 0.25, 0.25, -1.0), 0.5, vec3(0, 0, 2), 100.0);
  uint triangles = 0, boxes = 0;
  word(rayQueryGetIntersectionTypeEXT(q, true));
  number(rayQueryGetIntersectionTEXT(q, true));
  while (rayQueryProceedEXT(q)) {
    if (rayQueryGetIntersectionTypeEXT(q, false) == gl_RayQueryCandidateIntersectionAABBEXT) {
      boxes++;
      continue;
    }
    triangles++;
    if (rayQueryGetIntersectionInstanceCustomIndexEXT(q, false) == 7) {
      word(rayQueryGetIntersectionInstanceIdEXT(q, false));
      word(rayQueryGetIntersectionInstanceShaderBindingTableRecordOffsetEXT(q, false));
      word(rayQueryGetIntersectionGeometryIndexEXT(q, false));
      word(rayQueryGetIntersectionPrimitiveIndexEXT(q, false));
      number(rayQueryGetIntersectionTEXT(q, false));
      vec2 b = rayQueryGetIntersectionBarycentricsEXT(q, false);
      number(b.x);
      number(b.y);
      word(rayQueryGetIntersectionFrontFaceEXT(q, false) ? 1 : 0);
      rayQueryConfirmIntersectionEXT(q);
    }
  }
  word(triangles);
  word(boxes);
  word(rayQueryGetIntersectionTypeEXT(q, true));
  if (rayQueryGetIntersectionTypeEXT(q, true) == gl_RayQueryCommittedIntersectionTriangleEXT) {
    word(rayQueryGetIntersectionInstanceCustomIndexEXT(q, true));
    word(rayQueryGetIntersectionPrimitiveIndexEXT(q, true));
    number(rayQueryGetIntersectionTEXT(q, true));
    vector(rayQueryGetIntersectionObjectRayOriginEXT(q, true));
    vector(rayQueryGetIntersectionObjectRayDirectionEXT(q, true));
    matrix(rayQueryGetIntersectionObjectToWorldEXT(q, true));
    matrix(rayQueryGetIntersectionWorldToObjectEXT(q, true));
  }
  number(rayQueryGetRayTMinEXT(q));
  word(rayQueryGetRayFlagsEXT(q));
  vector(rayQueryGetWorldRayOriginEXT(q));
  vector(rayQueryGetWorldRayDirectionEXT(q));
  // A traversal that has ended stays so.
  uint more = 0;
  for (uint i = 0; i < 100; i++) more += rayQueryProceedEXT(q) ? 1 : 0;
  word(more);
}
