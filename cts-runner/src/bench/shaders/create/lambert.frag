#version 450
#extension GL_GOOGLE_include_directive : require
#include "light.glsl"
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
void main() {
    vec3 n = sphere_normal(uv);
    color = vec4(vec3(0.8, 0.5, 0.3) * (0.1 + max(dot(n, normalize(vec3(1.0, 1.0, 1.0))), 0.0)), 1.0);
}
