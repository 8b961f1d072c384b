#version 450
#extension GL_GOOGLE_include_directive : require
#include "light.glsl"
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(binding = 0) uniform sampler2D image;
void main() {
    vec3 n = sphere_normal(uv), l = normalize(vec3(-0.5, 0.7, 1.0)), r = reflect(-l, n);
    vec3 base = texture(image, uv).rgb;
    color = vec4(base * (0.1 + max(dot(n, l), 0.0)) + 0.4 * pow(max(r.z, 0.0), 24.0), 1.0);
}
