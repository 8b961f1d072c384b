#version 460
//! api 1.2
#extension GL_EXT_ray_query : require
#extension GL_GOOGLE_include_directive : require
// Whether each ray reaches its end: 1 or 0.
#include "ray.glsl"
layout(local_size_x = 64) in;
layout(std430, binding = 2) writeonly buffer Light { uint light[]; };

void main() {
    uint index = gl_GlobalInvocationID.x;
    light[index] = lit(index) ? 1 : 0;
}
