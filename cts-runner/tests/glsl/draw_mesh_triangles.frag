#version 460
#extension GL_EXT_mesh_shader : require
//! api 1.2
//! output bytes 2
//! outliers 0.02
layout(location = 0) in vec4 color;
layout(location = 1) perprimitiveEXT in vec4 tint;
layout(location = 0) out vec4 result;
void main() { result = mix(color, tint, 0.5); }
