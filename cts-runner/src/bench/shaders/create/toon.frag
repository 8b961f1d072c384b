#version 450
#extension GL_GOOGLE_include_directive : require
#include "light.glsl"
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
void main() {
    vec3 n = sphere_normal(uv);
    float l = max(dot(n, normalize(vec3(0.6, 0.8, 0.7))), 0.0);
    float bands = l > 0.85 ? 1.0 : l > 0.5 ? 0.7 : l > 0.2 ? 0.4 : 0.2;
    float rim = smoothstep(0.55, 0.75, 1.0 - n.z);
    vec3 base = mix(vec3(0.9, 0.4, 0.2), vec3(0.2, 0.4, 0.9), step(0.5, fract(uv.x * 2.0)));
    color = vec4(base * bands * (1.0 - rim), 1.0);
}
