#version 450
// C = A B, 64x64 tiles in shared memory, 4x4 elements in registers per invocation.
layout(local_size_x = 16, local_size_y = 16) in;
layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 1) readonly buffer B { float b[]; };
layout(std430, binding = 2) writeonly buffer C { float c[]; };
layout(push_constant) uniform Push { uint n; };
shared float tile_a[16][64], tile_b[16][64];
void main() {
    uint x = gl_LocalInvocationID.x, y = gl_LocalInvocationID.y, id = gl_LocalInvocationIndex;
    uint row = gl_WorkGroupID.y * 64u, column = gl_WorkGroupID.x * 64u;
    float sum[4][4];
    for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) sum[i][j] = 0.0;
    for (uint t = 0u; t < n; t += 16u) {
        for (uint i = 0u; i < 4u; i++) {
            uint e = id + i * 256u;
            tile_a[e % 16u][e / 16u] = a[(row + e / 16u) * n + t + e % 16u];
            tile_b[e / 64u][e % 64u] = b[(t + e / 64u) * n + column + e % 64u];
        }
        barrier();
        for (uint k = 0u; k < 16u; k++) {
            float left[4], right[4];
            for (uint i = 0u; i < 4u; i++) left[i] = tile_a[k][y * 4u + i];
            for (uint j = 0u; j < 4u; j++) right[j] = tile_b[k][x + 16u * j];
            for (int i = 0; i < 4; i++) for (int j = 0; j < 4; j++) sum[i][j] += left[i] * right[j];
        }
        barrier();
    }
    for (uint i = 0u; i < 4u; i++)
        for (uint j = 0u; j < 4u; j++) c[(row + y * 4u + i) * n + column + x + 16u * j] = sum[i][j];
}
