#version 460
//! api 1.2
#extension GL_EXT_ray_tracing : require
// Nothing lies between a point and the sun.
layout(location = 1) rayPayloadInEXT float sunlit;

void main() { sunlit = 1.0; }
