#version 450
#extension GL_GOOGLE_include_directive : require
#include "light.glsl"
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(binding = 0) uniform sampler2D image;
layout(binding = 1) uniform sampler2D bloom;
void main() {
    vec3 c = texture(image, uv).rgb * 2.0 + 0.3 * texture(bloom, uv * 0.5).rgb;
    c *= 1.0 - 0.5 * smoothstep(0.3, 0.8, distance(uv, vec2(0.5)));
    color = vec4(to_srgb(aces(c)), 1.0);
}
