#version 450
// Workgroup memory, barriers, atomics, a specialised workgroup size.
layout(local_size_x_id = 0, local_size_y = 2) in;
layout(constant_id = 3) const uint N = 4;
layout(constant_id = 4) const bool ADD = true;
layout(constant_id = 5) const float SCALE = 1.5;
const uint M = N * 2u + 1u;
layout(set = 0, binding = 0) readonly buffer In { uint a[]; };
layout(set = 0, binding = 1) buffer Out { uint o[]; };
layout(set = 0, binding = 2) buffer Counters { uint c[4]; int mn; int mx; uint cas; } k;
struct E { bool flag; vec3 v; };
shared uint sum[64];
shared E es[2];
shared uint total;
void main() {
    uint i = gl_LocalInvocationIndex;
    uint n = gl_WorkGroupSize.x * gl_WorkGroupSize.y;
    sum[i] = a[i];
    if (i == 0u) { total = 0u; es[0].flag = true; es[1].flag = false; es[0].v = vec3(1, 2, 3); es[1].v = vec3(4); }
    barrier();
    for (uint s = n / 2u; s > 0u; s >>= 1) {
        if (i < s) sum[i] += sum[i + s];
        barrier();
    }
    uint old = atomicAdd(total, i);
    atomicAdd(k.c[i & 3u], 1u);
    atomicMin(k.mn, -int(i));
    atomicMax(k.mx, int(i));
    atomicCompSwap(k.cas, 5u, 6u);
    memoryBarrierShared();
    barrier();
    o[i] = sum[0] + (ADD ? total : 0u) + M + uint(float(N) * SCALE) + (es[i & 1u].flag ? 1000u : 0u) + uint(es[i & 1u].v.y);
    if (old > 100000u) o[i] = 0u;
}
