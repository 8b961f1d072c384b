#version 450
layout(local_size_x = 128) in;
layout(std430, binding = 0) writeonly buffer Out { uint pixels[256]; };
layout(std430, binding = 1) readonly buffer X { float x[]; };
shared float data[256];
void main() {
    uint lane = gl_LocalInvocationIndex;
    data[lane] = x[lane];
    data[lane + 128u] = x[lane + 128u];
    barrier();
    for (uint size = 2u; size <= 256u; size <<= 1u)
        for (uint reach = size >> 1u; reach > 0u; reach >>= 1u) {
            uint low = 2u * lane - (lane & (reach - 1u)), high = low + reach;
            bool up = (low & size) == 0u;
            float a = data[low], b = data[high];
            if ((a > b) == up) {
                data[low] = b;
                data[high] = a;
            }
            barrier();
        }
    pixels[lane] = packUnorm4x8(vec4(data[lane], 0.0, 0.0, 1.0));
    pixels[lane + 128u] = packUnorm4x8(vec4(data[lane + 128u], 0.0, 0.0, 1.0));
}
