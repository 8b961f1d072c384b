#version 450
#extension GL_EXT_mesh_shader : require
layout(location = 0) perprimitiveEXT flat in uint number;
layout(location = 0) out uint result;
void main() { result = number + 1; }
