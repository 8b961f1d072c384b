#version 460
//! api 1.2
#extension GL_EXT_ray_tracing : require
#extension GL_GOOGLE_include_directive : require
#include "rays_path.glsl"
layout(location = 0) rayPayloadInEXT Path path;

void main() { path.sum += gl_WorldRayDirectionEXT; }
