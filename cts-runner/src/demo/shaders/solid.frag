#version 450
#extension GL_GOOGLE_include_directive : require
#include "scene.glsl"
// Lit by the core of the galaxy (a point light), by the sky, and by a faint rim; faded into the haze.
layout(location = 0) in vec3 world;
layout(location = 1) in vec3 normal_in;
layout(location = 2) in vec2 uv;
layout(location = 3) in float glow;
layout(location = 0) out vec4 color;
layout(binding = 1) uniform sampler2D albedo_map;

void main() {
    vec3 albedo = texture(albedo_map, uv).rgb * push.tint.rgb;
    vec3 n = normalize(normal_in);
    vec3 to_eye = frame.camera.xyz - world;
    float distance_to_eye = length(to_eye);
    vec3 v = to_eye / distance_to_eye;
    vec3 to_light = frame.light.xyz - world;
    float d2 = dot(to_light, to_light);
    vec3 l = to_light * inversesqrt(d2);
    float diffuse = max(dot(n, l) * 0.85 + 0.15, 0.0);
    float highlight = pow(max(dot(n, normalize(l + v)), 0.0), 48.0) * push.shine;
    vec3 warm = vec3(1.0, 0.72, 0.46) * (frame.light.w / (d2 + 6.0));
    vec3 sky = mix(vec3(0.030, 0.018, 0.022), vec3(0.040, 0.055, 0.10), n.y * 0.5 + 0.5);
    float rim = pow(1.0 - max(dot(n, v), 0.0), 4.0);
    vec3 c = albedo * (warm * diffuse + sky) + warm * highlight + rim * vec3(0.03, 0.05, 0.11);
    c += albedo * push.tint.a * (0.5 + glow);
    float fog = 1.0 - exp(-0.0004 * distance_to_eye * distance_to_eye);
    color = vec4(tone(mix(c, haze(-v), fog)), 1.0);
}
