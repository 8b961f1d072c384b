#version 460
#extension GL_EXT_ray_tracing : require

layout(location = 0) rayPayloadInEXT uvec4 payload;
layout(shaderRecordEXT) buffer Record { uint value; };

void main() {
    payload.x += 0x100 + gl_PrimitiveID;
    payload.z = uint(gl_HitTEXT * 16);
    payload.w = value;
}
