#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
void main() {
    uint grid[4][5];
    for (uint y = 0u; y < 4u; ++y) for (uint x = 0u; x < 5u; ++x) grid[y][x] = u(y) ^ (x * 0x1234567u);
    uint row[5] = grid[u(0u) & 3u];
    grid[1] = row;
    put(uvec4(row[u(1u) % 5u], grid[1][4], grid[u(2u) & 3u][u(3u) % 5u], uint(grid.length() * row.length())));
}
