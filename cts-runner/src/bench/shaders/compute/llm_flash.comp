#version 450
// Attention in one pass over keys and values (f16, two in a word): a workgroup does 16 queries of a head, four invocations to a
// query, and keeps for each the largest score so far, the sum of powers and the weighted values, rescaled where a larger one comes.
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Q { float q[]; };
layout(std430, binding = 1) readonly buffer K { uint k[]; };
layout(std430, binding = 2) readonly buffer V { uint v[]; };
layout(std430, binding = 3) writeonly buffer O { float o[]; };
layout(push_constant) uniform Push { uint queries, keys; };
const uint DIM = 64u, TILE = 16u, PART = 16u;
shared float tile_k[TILE][DIM], tile_v[TILE][DIM];
shared float partial[16][4][TILE + 1u];
void main() {
    uint lane = gl_LocalInvocationID.x, query = lane / 4u, part = lane & 3u, head = gl_WorkGroupID.y;
    uint row = (head * queries + gl_WorkGroupID.x * 16u + query) * DIM + part * PART;
    float mine[PART], sums[PART], most = -1e30, total = 0.0;
    for (uint d = 0u; d < PART; d++) { mine[d] = q[row + d] * 0.125; sums[d] = 0.0; }
    for (uint t = 0u; t < keys; t += TILE) {
        for (uint i = lane; i < TILE * DIM / 2u; i += 64u) {
            uint at = (head * keys + t) * (DIM / 2u) + i, y = i / (DIM / 2u), x = 2u * (i % (DIM / 2u));
            vec2 pair = unpackHalf2x16(k[at]);
            tile_k[y][x] = pair.x; tile_k[y][x + 1u] = pair.y;
            pair = unpackHalf2x16(v[at]);
            tile_v[y][x] = pair.x; tile_v[y][x + 1u] = pair.y;
        }
        barrier();
        for (uint s = 0u; s < TILE; s++) {
            float score = 0.0;
            for (uint d = 0u; d < PART; d++) score += mine[d] * tile_k[s][part * PART + d];
            partial[query][part][s] = score;
        }
        barrier();
        float scores[TILE], larger = most;
        for (uint s = 0u; s < TILE; s++) {
            scores[s] = partial[query][0][s] + partial[query][1][s] + partial[query][2][s] + partial[query][3][s];
            larger = max(larger, scores[s]);
        }
        float rescale = exp(most - larger);
        most = larger;
        total *= rescale;
        for (uint d = 0u; d < PART; d++) sums[d] *= rescale;
        for (uint s = 0u; s < TILE; s++) {
            float weight = exp(scores[s] - most);
            total += weight;
            for (uint d = 0u; d < PART; d++) sums[d] += weight * tile_v[s][part * PART + d];
        }
        barrier();
    }
    for (uint d = 0u; d < PART; d++) o[row + d] = sums[d] / total;
}
