#version 450
#extension GL_GOOGLE_include_directive : require
#include "scene.glsl"
// A mesh, instanced: BODY instances ride on a body of the simulation, the others stand where the instance says.
layout(constant_id = 0) const bool BODY = false;
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec2 uv;
layout(location = 3) in vec4 instance; // xyz; w: mass of a body, or angle
layout(location = 0) out vec3 world_out;
layout(location = 1) out vec3 normal_out;
layout(location = 2) out vec2 uv_out;
layout(location = 3) out float glow_out;

void main() {
    float random = hash(uint(gl_InstanceIndex) * 7919u + 3u);
    float angle = BODY ? push.spin * frame.camera.w * (random - 0.3) + 40.0 * random : instance.w;
    float c = cos(angle), s = sin(angle);
    mat3 turn = mat3(c, 0.0, -s, 0.0, 1.0, 0.0, s, 0.0, c);
    if (BODY) {
        float tilt = 6.2831853 * hash(uint(gl_InstanceIndex) + 991u);
        float ct = cos(tilt), st = sin(tilt);
        turn = mat3(1.0, 0.0, 0.0, 0.0, ct, st, 0.0, -st, ct) * turn;
    }
    float size = push.scale * (1.0 + push.variation * (random * 2.0 - 1.0));
    vec3 stretch = BODY ? vec3(size) : vec3(push.scale, size, push.scale);
    vec3 centre = BODY ? galaxy_to_world(instance.xyz) : instance.xyz;
    world_out = centre + turn * (position * stretch);
    normal_out = turn * (normal / stretch);
    uv_out = uv;
    glow_out = random;
    gl_Position = frame.view_projection * vec4(world_out, 1.0);
}
