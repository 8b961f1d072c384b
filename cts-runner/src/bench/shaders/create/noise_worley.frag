#version 450
#extension GL_GOOGLE_include_directive : require
#include "noise.glsl"
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
void main() { vec2 w = worley(uv * 5.0); color = vec4(w, w.y - w.x, 1.0); }
