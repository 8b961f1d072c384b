#version 450
layout(local_size_x = 256) in;
layout(std430, binding = 0) writeonly buffer Out { uint pixels[256]; };
layout(std430, binding = 1) readonly buffer X { float x[]; };
shared uint cells[2][256];
void main() {
    uint i = gl_LocalInvocationIndex, column = i & 15u, row = i >> 4u;
    cells[0][i] = x[i] > 0.6 ? 1u : 0u;
    barrier();
    for (uint step = 0u; step < 8u; step++) {
        uint from = step & 1u, n = 0u;
        for (uint dy = 15u; dy <= 17u; dy++)
            for (uint dx = 15u; dx <= 17u; dx++)
                if (dx != 16u || dy != 16u) n += cells[from][((row + dy) & 15u) * 16u + ((column + dx) & 15u)];
        cells[1u - from][i] = n == 3u || (n == 2u && cells[from][i] == 1u) ? 1u : 0u;
        barrier();
    }
    pixels[i] = cells[0][i] == 1u ? 0xffffffffu : 0xff000000u | i;
}
