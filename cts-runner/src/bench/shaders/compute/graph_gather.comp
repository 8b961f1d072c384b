#version 450
// A step of page rank over a graph in compressed rows: each node adds up what its neighbours give.
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Rows { uint rows[]; };
layout(std430, binding = 1) readonly buffer Edges { uint edges[]; };
layout(std430, binding = 2) readonly buffer Rank { float rank[]; };
layout(std430, binding = 3) writeonly buffer Out { float next_rank[]; };
void main() {
    uint node = gl_GlobalInvocationID.x;
    float sum = 0.0;
    for (uint e = rows[node]; e < rows[node + 1u]; e++) sum += rank[edges[e]];
    next_rank[node] = 0.15 + 0.85 * sum;
}
