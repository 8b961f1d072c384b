#version 450
// C = B Aᵀ as for a prompt: f16 weights A of m rows, f32 activations B of a row per token, both with k values in a row.
// A workgroup makes 64x32 results from tiles in shared memory, 4x4 in the registers of each of 128 invocations.
layout(local_size_x = 128) in;
layout(std430, binding = 0) readonly buffer A { uvec2 a[]; };
layout(std430, binding = 1) readonly buffer B { vec4 b[]; };
layout(std430, binding = 2) writeonly buffer C { float c[]; };
layout(push_constant) uniform Push { uint m, k; };
shared float tile_a[16][65], tile_b[16][33];
void main() {
    uint lane = gl_LocalInvocationID.x, row = gl_WorkGroupID.x * 64u, token = gl_WorkGroupID.y * 32u;
    uint x = (lane & 15u) * 4u, y = (lane / 16u) * 4u;
    float sums[4][4];
    for (uint j = 0u; j < 4u; j++) for (uint i = 0u; i < 4u; i++) sums[j][i] = 0.0;
    for (uint t = 0u; t < k; t += 16u) {
        for (uint i = lane; i < 256u; i += 128u) {
            uvec2 four = a[((row + i / 4u) * k + t) / 4u + (i & 3u)];
            vec4 v = vec4(unpackHalf2x16(four.x), unpackHalf2x16(four.y));
            for (uint j = 0u; j < 4u; j++) tile_a[(i & 3u) * 4u + j][i / 4u] = v[j];
        }
        vec4 v = b[((token + lane / 4u) * k + t) / 4u + (lane & 3u)];
        for (uint j = 0u; j < 4u; j++) tile_b[(lane & 3u) * 4u + j][lane / 4u] = v[j];
        barrier();
        for (uint s = 0u; s < 16u; s++) {
            for (uint j = 0u; j < 4u; j++) {
                float value = tile_b[s][y + j];
                for (uint i = 0u; i < 4u; i++) sums[j][i] += tile_a[s][x + i] * value;
            }
        }
        barrier();
    }
    for (uint j = 0u; j < 4u; j++) for (uint i = 0u; i < 4u; i++) c[(token + y + j) * m + row + x + i] = sums[j][i];
}
