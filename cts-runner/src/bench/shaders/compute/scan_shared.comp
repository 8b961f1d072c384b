#version 450
// Inclusive sums within blocks of 1024; the total of each block goes to `totals`.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer In { uint x[]; };
layout(std430, binding = 1) writeonly buffer Out { uint y[]; };
layout(std430, binding = 2) writeonly buffer Totals { uint totals[]; };
shared uint parts[256];
void main() {
    uint lane = gl_LocalInvocationID.x, base = gl_WorkGroupID.x * 1024u + lane * 4u;
    uint s0 = x[base], s1 = s0 + x[base + 1u], s2 = s1 + x[base + 2u], s3 = s2 + x[base + 3u];
    parts[lane] = s3;
    barrier();
    for (uint reach = 1u; reach < 256u; reach <<= 1u) {
        uint left = lane >= reach ? parts[lane - reach] : 0u;
        barrier();
        parts[lane] += left;
        barrier();
    }
    uint before = parts[lane] - s3;
    y[base] = before + s0;
    y[base + 1u] = before + s1;
    y[base + 2u] = before + s2;
    y[base + 3u] = before + s3;
    if (lane == 255u) totals[gl_WorkGroupID.x] = parts[255];
}
