#version 450
// A level of breadth-first search: nodes at distance `level` reach their neighbours.
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Rows { uint rows[]; };
layout(std430, binding = 1) readonly buffer Edges { uint edges[]; };
layout(std430, binding = 2) buffer Distance { uint distance_to[]; };
layout(push_constant) uniform Push { uint level; };
void main() {
    uint node = gl_GlobalInvocationID.x;
    if (distance_to[node] != level) return;
    for (uint e = rows[node]; e < rows[node + 1u]; e++) atomicMin(distance_to[edges[e]], level + 1u);
}
