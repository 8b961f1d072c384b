#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
//! output float 1e-5
layout(std140, binding = 2) uniform Block { vec4 rows[4]; mat3 m; float tail; } block;
void main() { put(block.rows[u(0u) & 3u] + vec4(block.m * block.rows[1].xyz, block.tail)); }
