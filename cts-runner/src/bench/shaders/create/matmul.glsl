// TILE and PER (elements of a row per invocation) are defined before.
layout(std430, binding = 1) readonly buffer A { float a[]; };
layout(std430, binding = 2) readonly buffer B { float b[]; };
const uint N = 64u;
shared float tile_a[16][TILE], tile_b[TILE][16 * PER];
void main() {
    uint x = gl_LocalInvocationIndex & 15u, y = gl_LocalInvocationIndex >> 4u;
    float sum[PER];
    for (uint p = 0u; p < PER; p++) sum[p] = 0.0;
    for (uint t = 0u; t < N; t += TILE) {
        for (uint k = x; k < TILE; k += 16u) tile_a[y][k] = a[y * N + t + k];
        for (uint k = y; k < TILE; k += 16u)
            for (uint p = 0u; p < PER; p++) tile_b[k][x + 16u * p] = b[(t + k) * N + x + 16u * p];
        barrier();
        for (uint k = 0u; k < TILE; k++)
            for (uint p = 0u; p < PER; p++) sum[p] += tile_a[y][k] * tile_b[k][x + 16u * p];
        barrier();
    }
    vec4 shade = vec4(0.0, 0.0, 0.0, 1.0);
    for (uint p = 0u; p < min(PER, 3u); p++) shade[p] = sum[p] / 32.0;
    pixels[gl_LocalInvocationIndex] = packUnorm4x8(shade);
}
