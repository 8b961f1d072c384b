#version 460
//! api 1.2
#extension GL_EXT_ray_tracing : require
// Distance and primitive of the closest hit.
layout(location = 0) rayPayloadInEXT uvec2 payload;

void main() {
    payload = uvec2(floatBitsToUint(gl_HitTEXT), uint(gl_PrimitiveID));
}
