#version 450
#extension GL_GOOGLE_include_directive : require
#include "noise.glsl"
layout(quads, equal_spacing, ccw) in;
layout(location = 0) in vec2 at[];
layout(location = 0) out vec4 shade;
void main() {
    vec2 p = mix(mix(at[0], at[1], gl_TessCoord.x), mix(at[2], at[3], gl_TessCoord.x), gl_TessCoord.y);
    float h = 0.5 + 0.5 * fbm(p * 3.0, 4);
    shade = vec4(p, h, 1.0);
    gl_Position = vec4(p * 2.0 - 1.0, 0.5 * h, 1.0);
}
