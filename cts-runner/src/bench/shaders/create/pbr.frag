#version 450
#extension GL_GOOGLE_include_directive : require
#include "light.glsl"
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
void main() {
    Surface s = Surface(vec3(0.9, 0.6, 0.3), uv.x, 0.2 + 0.7 * uv.y, sphere_normal(fract(uv * 2.0)), vec3(0.0, 0.0, 1.0));
    color = vec4(to_srgb(aces(lit(s, normalize(vec3(0.5, 0.8, 0.9)), vec3(3.0)) + 0.03 * s.albedo)), 1.0);
}
