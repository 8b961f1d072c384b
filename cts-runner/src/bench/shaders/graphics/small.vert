#version 450
#extension GL_GOOGLE_include_directive : require
#include "hash.glsl"
// Positions in pixels; the colour is a function of vertex and instance.
layout(location = 0) in vec2 position;
layout(location = 0) flat out vec4 color;
void main() {
    gl_Position = vec4(position * (1.0 / 512.0) - 1.0, 0.0, 1.0);
    color = unpackUnorm4x8(hash(uint(gl_VertexIndex) + uint(gl_InstanceIndex) * 0x100000u) | 0xff000000u);
}
