#version 450
layout(local_size_x = 256) in;
layout(std430, binding = 0) writeonly buffer Out { uint pixels[256]; };
// One head of attention: 16 queries over 64 keys of 16 numbers, the softmax kept online.
layout(std430, binding = 1) readonly buffer Q { vec4 q[]; };
layout(std430, binding = 2) readonly buffer K { vec4 k[]; };
layout(std430, binding = 3) readonly buffer V { vec4 v[]; };
void main() {
    uint id = gl_LocalInvocationIndex, row = id >> 4u, column = id & 15u;
    vec4 own[4];
    for (uint i = 0u; i < 4u; i++) own[i] = q[row * 4u + i];
    float most = -1e30, total = 0.0, sum = 0.0;
    for (uint key = 0u; key < 64u; key++) {
        float score = 0.0;
        for (uint i = 0u; i < 4u; i++) score += dot(own[i], k[key * 4u + i]);
        score *= 2.0;
        float next = max(most, score), fix = exp(most - next), p = exp(score - next);
        total = total * fix + p;
        sum = sum * fix + p * v[key * 4u + (column >> 2u)][column & 3u];
        most = next;
    }
    pixels[id] = packUnorm4x8(vec4(sum / total, most / 24.0, 0.2, 1.0));
}
