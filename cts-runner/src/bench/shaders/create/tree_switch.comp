#version 450
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256) in;
layout(std430, binding = 0) writeonly buffer Out { uint pixels[256]; };
#include "noise.glsl"
// Divergence: nested branches and loops whose lengths differ by invocation.
void main() {
    uint id = gl_LocalInvocationIndex, state = pcg(id), steps = 0u;
    float v = 0.0;
    for (uint i = 0u; i < (state & 31u) + 1u; i++) {
        uint h = pcg(state + i);
        if ((h & 1u) != 0u) {
            if ((h & 2u) != 0u) v += 0.1;
            else if ((h & 4u) != 0u) {
                for (uint k = 0u; k < (h >> 28u); k++) v = v * 0.9 + 0.05;
            } else continue;
        } else if ((h & 8u) != 0u) {
            v = sqrt(v + 0.1);
            if (v > 0.9) break;
        }
        steps++;
    }
    pixels[id] = packUnorm4x8(vec4(v * 0.5, float(steps) / 32.0, 0.0, 1.0));
}
