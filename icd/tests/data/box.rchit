#version 460
#extension GL_EXT_ray_tracing : require

layout(location = 0) rayPayloadInEXT uvec4 payload;
hitAttributeEXT uint word;

void main() {
    payload.x += 0x200 + gl_HitKindEXT;
    payload.z = uint(gl_HitTEXT * 16);
    payload.w = word;
}
