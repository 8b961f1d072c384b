#version 450
#extension GL_GOOGLE_include_directive : require
#include "hash.glsl"
// xy: corner in pixels, z: size, w: depth of the object that an instance stands for.
layout(std430, binding = 0) readonly buffer Objects { vec4 objects[]; };
layout(std430, binding = 1) readonly buffer Visible { uint visible[]; };
layout(location = 0) flat out vec4 color;
void main() {
    uint object = visible[gl_InstanceIndex];
    vec4 o = objects[object];
    vec2 corner = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1);
    gl_Position = vec4((o.xy + corner * o.z) * (1.0 / 512.0) - 1.0, o.w, 1.0);
    color = unpackUnorm4x8(hash(object) | 0xff000000u);
}
