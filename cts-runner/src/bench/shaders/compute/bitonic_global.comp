#version 450
// One step of a bitonic sort in device memory.
layout(local_size_x = 256) in;
layout(std430, binding = 0) buffer Data { uint data[]; };
layout(push_constant) uniform Push { uint size; uint reach; };
void main() {
    uint id = gl_GlobalInvocationID.x;
    uint low = 2u * id - (id & (reach - 1u)), high = low + reach;
    bool up = (low & size) == 0u;
    uint a = data[low], b = data[high];
    if ((a > b) == up) {
        data[low] = b;
        data[high] = a;
    }
}
