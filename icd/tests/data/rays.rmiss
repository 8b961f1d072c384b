#version 460
#extension GL_EXT_ray_tracing : require

layout(location = 0) rayPayloadInEXT uvec4 payload;
layout(shaderRecordEXT) buffer Record { uint value; };

void main() {
    payload.x += 0x8000;
    payload.w = value;
}
