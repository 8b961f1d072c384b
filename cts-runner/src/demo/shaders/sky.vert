#version 450
#extension GL_GOOGLE_include_directive : require
#include "scene.glsl"
layout(location = 0) out vec3 ray;
vec3 eye_ray(vec2 p) {
    vec3 forward = cross(frame.camera_up.xyz, frame.camera_right.xyz);
    return forward + p.x * frame.camera_right.w * frame.camera_right.xyz - p.y * frame.camera_up.w * frame.camera_up.xyz;
}
void main() {
    vec2 p = vec2((gl_VertexIndex << 1) & 2, gl_VertexIndex & 2) * 2.0 - 1.0;
    ray = eye_ray(p);
    gl_Position = vec4(p, 1.0, 1.0);
}
