#version 450
#extension GL_GOOGLE_include_directive : require
#include "scene.glsl"
// A point becomes a blade of grass that sways: a strip of three triangles, lit as other meshes are, with tips that shine.
layout(points) in;
layout(triangle_strip, max_vertices = 5) out;
layout(location = 0) in vec4 root[];
layout(location = 0) out vec3 world_out;
layout(location = 1) out vec3 normal_out;
layout(location = 2) out vec2 uv_out;
layout(location = 3) out float glow_out;

void main() {
    vec3 foot = root[0].xyz;
    float random = root[0].w;
    float angle = 6.2831853 * fract(random * 97.0);
    vec3 side = vec3(cos(angle), 0.0, sin(angle));
    vec3 ahead = vec3(-side.z, 0.0, side.x);
    float tall = push.scale * (1.0 + push.variation * (random * 2.0 - 1.0));
    float wind = sin(frame.camera.w * push.spin + foot.x * 0.9 + foot.z * 0.6) * 0.16;
    float bend = 0.18 + 0.45 * fract(random * 331.0) + wind;
    for (int i = 0; i < 5; i++) {
        float along = float(i >> 1) * 0.5;
        float beside = float(i & 1) * 2.0 - 1.0;
        float wide = i == 4 ? 0.0 : 0.06 * tall * (1.0 - along * along * 0.8);
        vec3 middle = foot + vec3(0.0, tall * along * (1.0 - 0.25 * bend * along), 0.0) + ahead * (bend * tall * along * along);
        vec3 normal = cross(vec3(0.0, 1.0, 0.0) + ahead * (2.0 * bend * along), side);
        world_out = middle + side * (beside * wide);
        // Both faces are seen from before; those of a round blade, and of a meadow.
        normal = dot(normal, frame.camera.xyz - middle) < 0.0 ? -normal : normal;
        normal_out = normalize(normal + side * (beside * 0.5) + vec3(0.0, 0.8, 0.0));
        uv_out = vec2(random * 7.0 + beside * 0.02, along * 0.3);
        glow_out = 1.5 * along * along * along - 0.5;
        gl_Position = frame.view_projection * vec4(world_out, 1.0);
        EmitVertex();
    }
}
