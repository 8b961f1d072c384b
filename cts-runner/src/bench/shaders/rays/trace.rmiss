#version 460
//! api 1.2
#extension GL_EXT_ray_tracing : require
// The result of a ray without a hit.
layout(location = 0) rayPayloadInEXT uvec2 payload;

void main() {
    payload = uvec2(floatBitsToUint(-1.0), ~0u);
}
