#version 450
layout(local_size_x = 256) in;
layout(std430, binding = 0) writeonly buffer Out { uint pixels[256]; };
layout(std430, binding = 1) readonly buffer X { float x[]; };
shared float grid[18][18];
void main() {
    uint i = gl_LocalInvocationIndex, column = (i & 15u) + 1u, row = (i >> 4u) + 1u;
    for (uint k = i; k < 324u; k += 256u) grid[k / 18u][k % 18u] = x[k];
    barrier();
    for (uint step = 0u; step < 10u; step++) {
        float next = 0.25 * (grid[row - 1u][column] + grid[row + 1u][column] + grid[row][column - 1u] + grid[row][column + 1u]);
        barrier();
        grid[row][column] = next;
        barrier();
    }
    pixels[i] = packUnorm4x8(vec4(vec3(grid[row][column]), 1.0));
}
