#version 450
#extension GL_GOOGLE_include_directive : require
#include "scene.glsl"
// A body as a soft sprite that faces the camera: four vertices of a strip per instance.
layout(location = 3) in vec4 body;     // xyz, mass
layout(location = 4) in vec4 velocity; // xyz, temperature
layout(location = 0) out vec2 corner_out;
layout(location = 1) out vec3 color_out;

void main() {
    vec2 corner = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1) * 2.0 - 1.0;
    float random = hash(uint(gl_InstanceIndex) * 2654435u + 11u);
    float size = push.scale * (0.6 + push.variation * random * random * random);
    vec3 p = galaxy_to_world(body.xyz);
    p += (corner.x * frame.camera_right.xyz + corner.y * frame.camera_up.xyz) * size;
    corner_out = corner;
    float heat = clamp(velocity.w, 0.0, 1.0);
    vec3 cold = mix(vec3(0.22, 0.34, 1.0), vec3(0.95, 0.35, 0.75), random);
    color_out = mix(cold, vec3(1.0, 0.62, 0.30), heat) * push.tint.rgb * (0.5 + 0.02 * dot(velocity.xyz, velocity.xyz));
    gl_Position = frame.view_projection * vec4(p, 1.0);
}
