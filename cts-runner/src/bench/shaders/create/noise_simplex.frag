#version 450
#extension GL_GOOGLE_include_directive : require
#include "noise.glsl"
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
void main() { color = vec4(vec3(0.5 + 0.3 * simplex(uv * 5.0), 0.5 + 0.3 * simplex(uv * 3.0 + 7.0), 0.5), 1.0); }
