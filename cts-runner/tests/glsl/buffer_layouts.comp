#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
struct Item { uvec3 a; uint b; uvec2 c[2]; };
layout(std430, binding = 0) readonly buffer Items { Item items[]; } more;
void main() {
    Item item = more.items[id() & 255u];
    put(uvec4(item.a.z + item.b, item.c[u(0u) & 1u].y, more.items[(id() * 7u) & 255u].a.x, more.items[3].c[1].x));
}
