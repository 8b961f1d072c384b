#version 450
// C = A B, 16x16 tiles in shared memory, one element per invocation.
layout(local_size_x = 16, local_size_y = 16) in;
layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 1) readonly buffer B { float b[]; };
layout(std430, binding = 2) writeonly buffer C { float c[]; };
layout(push_constant) uniform Push { uint n; };
shared float tile_a[16][16], tile_b[16][16];
void main() {
    uint x = gl_LocalInvocationID.x, y = gl_LocalInvocationID.y;
    uint row = gl_GlobalInvocationID.y, column = gl_GlobalInvocationID.x;
    float sum = 0.0;
    for (uint t = 0u; t < n; t += 16u) {
        tile_a[y][x] = a[row * n + t + x];
        tile_b[y][x] = b[(t + y) * n + column];
        barrier();
        for (uint k = 0u; k < 16u; k++) sum += tile_a[y][k] * tile_b[k][x];
        barrier();
    }
    c[row * n + column] = sum;
}
