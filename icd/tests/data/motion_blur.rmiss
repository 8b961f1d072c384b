#version 460
#extension GL_EXT_ray_tracing : require
#extension GL_NV_ray_tracing_motion_blur : require

layout(location = 0) rayPayloadInEXT uvec4 payload;

void main() {
    payload = uvec4(0, floatBitsToUint(gl_CurrentRayTimeNV), 0, 0);
}
