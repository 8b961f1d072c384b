#version 450
#extension GL_GOOGLE_include_directive : require
#include "hash.glsl"
// Bézier curves, the lines of one two pixels from each other.
layout(isolines, equal_spacing) in;
layout(location = 0) in vec2 point[];
layout(location = 0) flat out vec4 color;
void main() {
    float t = gl_TessCoord.x, s = 1.0 - t;
    vec2 p = point[0] * (s * s * s) + point[1] * (3.0 * s * s * t) + point[2] * (3.0 * s * t * t) + point[3] * (t * t * t);
    p.y += gl_TessCoord.y * 8.0;
    gl_Position = vec4(p * (1.0 / 512.0) - 1.0, 0.0, 1.0);
    color = unpackUnorm4x8(hash(uint(gl_PrimitiveID)) | 0xff808080u);
}
