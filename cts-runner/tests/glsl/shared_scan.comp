#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
shared uint scan[2][64];
void main() {
    uint lane = gl_LocalInvocationID.x, from = 0u;
    scan[0][lane] = u(0u) & 0xffffu;
    barrier();
    for (uint step = 1u; step < 64u; step *= 2u) {
        scan[from ^ 1u][lane] = scan[from][lane] + (lane >= step ? scan[from][lane - step] : 0u);
        from ^= 1u;
        barrier();
    }
    put(uvec4(scan[from][lane], scan[from][63], scan[from][63u - lane], from));
}
