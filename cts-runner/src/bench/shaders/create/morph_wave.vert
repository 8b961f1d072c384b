#version 450
#extension GL_GOOGLE_include_directive : require
#include "noise.glsl"
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 target_a;
layout(location = 2) in vec3 target_b;
layout(push_constant) uniform Push { vec4 mixing; float time; };
layout(location = 0) out vec4 shade;
void place();
void main() {
    vec3 p = position * mixing.x + target_a * mixing.y + target_b * mixing.z, n = vec3(0.0, 1.0, 0.0);
    for (int i = 0; i < 4; i++) {
        float k = 1.0 + float(i), phase = dot(p.xz, vec2(cos(k), sin(k))) * k * 2.0 + time;
        p.y += 0.1 * sin(phase) / k;
        n.xz -= 0.2 * cos(phase) * vec2(cos(k), sin(k));
    }
    p.y += 0.1 * perlin(p.xz * 3.0);
    shade = vec4(p * 0.5, 0.5 + 0.5 * normalize(n).y);
    place();
}
// Every vertex is a point on a pixel of its own; what the shader computed becomes its colour.
void place() {
    gl_Position = vec4((vec2(gl_VertexIndex & 15, gl_VertexIndex >> 4) + 0.5) / 8.0 - 1.0, 0.0, 1.0);
    gl_PointSize = 1.0;
}
