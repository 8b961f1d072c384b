#version 460
//! api 1.2
#extension GL_EXT_ray_tracing : require
// A wall of mirrors: adds the length of the ray to that of the path and traces the reflected ray.
layout(binding = 0) uniform accelerationStructureEXT scene;
layout(location = 0) rayPayloadInEXT uvec2 payload;

// Number of rays of a path, and of triangles of a wall.
layout(constant_id = 0) const uint RAYS = 1;
layout(constant_id = 1) const uint WALL = 1;
// Axis to which each wall is perpendicular.
const uint AXES[6] = uint[6](2, 2, 0, 0, 1, 1);

void main() {
    payload = uvec2(floatBitsToUint(uintBitsToFloat(payload.x) + gl_HitTEXT), payload.y + 1);
    if (payload.y == RAYS) return;
    vec3 direction = gl_WorldRayDirectionEXT, at = gl_WorldRayOriginEXT + gl_HitTEXT * direction;
    uint axis = AXES[uint(gl_PrimitiveID) / WALL];
    direction[axis] = -direction[axis];
    // A reflected ray begins beside the wall.
    at[axis] += direction[axis] < 0.0 ? -0.001 : 0.001;
    traceRayEXT(scene, gl_RayFlagsNoneEXT, 0xff, 0, 0, 0, at, 0.0, direction, 1000.0, 0);
}
