#version 450
#extension GL_GOOGLE_include_directive : require
#include "scene.glsl"
// A translucent shell: clear in the middle, bright at the rim.
layout(location = 0) in vec3 world;
layout(location = 1) in vec3 normal_in;
layout(location = 2) in vec2 uv;
layout(location = 3) in float glow;
layout(location = 0) out vec4 color;
layout(binding = 1) uniform sampler2D albedo_map;

void main() {
    vec3 n = normalize(normal_in);
    vec3 v = normalize(frame.camera.xyz - world);
    vec3 l = normalize(frame.light.xyz - world);
    float rim = pow(1.0 - abs(dot(n, v)), 2.0);
    float spark = pow(max(dot(n, normalize(l + v)), 0.0), 90.0);
    float band = texture(albedo_map, uv * 2.0).g;
    float alpha = clamp(0.06 + 0.75 * rim + 0.12 * band, 0.0, 1.0) * push.tint.a;
    color = vec4(tone(push.tint.rgb * (0.25 + rim + 0.3 * glow) + vec3(spark) * push.shine), alpha);
}
