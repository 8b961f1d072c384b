#version 450
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256) in;
layout(std430, binding = 0) writeonly buffer Out { uint pixels[256]; };
#define POINTS 16
#define BITS 4
#include "fft.glsl"
