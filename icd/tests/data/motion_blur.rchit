#version 460
#extension GL_EXT_ray_tracing : require
#extension GL_NV_ray_tracing_motion_blur : require

layout(location = 0) rayPayloadInEXT uvec4 payload;

void main() {
    payload.x = gl_InstanceCustomIndexEXT << 8 | gl_GeometryIndexEXT;
    payload.y = floatBitsToUint(gl_CurrentRayTimeNV);
    payload.zw = floatBitsToUint(gl_ObjectToWorldEXT[3].xy);
}
