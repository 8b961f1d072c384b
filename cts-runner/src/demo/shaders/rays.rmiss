#version 460
//! api 1.2
#extension GL_GOOGLE_include_directive : require
#include "rays.glsl"
layout(location = 0) rayPayloadInEXT Path path;

void main() { path.light = sky(gl_WorldRayDirectionEXT); }
