#version 450
#extension GL_GOOGLE_include_directive : require
#include "noise.glsl"
layout(push_constant) uniform Push { vec4 wind; };
layout(location = 0) out vec4 shade;
void place();
void main() {
    int blade = gl_VertexIndex / 8, part = gl_VertexIndex % 8;
    vec2 root = unit2(pcg(uint(blade))) * 4.0;
    float t = float(part) / 7.0, bend = 0.5 + fbm(root + wind.xy, 3);
    vec2 a = vec2(0.0), b = vec2(0.0, 0.6), c = b + vec2(cos(bend), sin(bend)) * 0.5;
    vec2 p = mix(mix(a, b, t), mix(b, c, t), t);
    vec2 tangent = normalize(mix(b - a, c - b, t) + 1e-3);
    shade = vec4(p, 0.5 + 0.5 * tangent.x, 1.0) * vec4(0.8, 0.9, 1.0, 1.0);
    place();
}
// Every vertex is a point on a pixel of its own; what the shader computed becomes its colour.
void place() {
    gl_Position = vec4((vec2(gl_VertexIndex & 15, gl_VertexIndex >> 4) + 0.5) / 8.0 - 1.0, 0.0, 1.0);
    gl_PointSize = 1.0;
}
