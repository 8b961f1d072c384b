#version 450
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256) in;
layout(std430, binding = 0) writeonly buffer Out { uint pixels[256]; };
#include "sha256.glsl"
void main() {
    uint w[16];
    for (int i = 0; i < 16; i++) w[i] = gl_LocalInvocationIndex * 0x01010101u + uint(i);
    uint a = 0x6a09e667u, b = 0xbb67ae85u, c = 0x3c6ef372u, d = 0xa54ff53au, e = 0x510e527fu, f = 0x9b05688cu, g = 0x1f83d9abu, h = 0x5be0cd19u;
    for (int i = 0; i < 64; i++) {
        if (i >= 16) EXPAND(i)
        ROUND(a, b, c, d, e, f, g, h, i)
        uint t = h;
        h = g; g = f; f = e; e = d; d = c; c = b; b = a; a = t;
    }
    pixels[gl_LocalInvocationIndex] = a;
}
