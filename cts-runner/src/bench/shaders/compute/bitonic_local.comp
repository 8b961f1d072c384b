#version 450
// Bitonic sort of blocks of 512 in shared memory: all steps of sizes `from`..`to`, each from distance 256 or less.
layout(local_size_x = 256) in;
layout(std430, binding = 0) buffer Data { uint data[]; };
layout(push_constant) uniform Push { uint from; uint to; };
shared uint block[512];
void main() {
    uint lane = gl_LocalInvocationID.x, base = gl_WorkGroupID.x * 512u;
    block[lane] = data[base + lane];
    block[lane + 256u] = data[base + lane + 256u];
    barrier();
    for (uint size = from; size <= to; size <<= 1u) {
        for (uint reach = min(size >> 1u, 256u); reach > 0u; reach >>= 1u) {
            uint low = 2u * lane - (lane & (reach - 1u)), high = low + reach;
            bool up = ((base + low) & size) == 0u;
            uint a = block[low], b = block[high];
            if ((a > b) == up) {
                block[low] = b;
                block[high] = a;
            }
            barrier();
        }
    }
    data[base + lane] = block[lane];
    data[base + lane + 256u] = block[lane + 256u];
}
