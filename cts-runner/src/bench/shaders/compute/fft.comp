#version 450
// FFT of 1024 complex numbers per workgroup: five radix-4 Stockham passes through shared memory, twiddles from a table.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer In { vec2 x[]; };
layout(std430, binding = 1) writeonly buffer Out { vec2 y[]; };
layout(std430, binding = 2) readonly buffer Twiddles { vec2 twiddles[1024]; };
shared vec2 data[1024];
vec2 times(vec2 a, vec2 b) { return vec2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
void main() {
    uint lane = gl_LocalInvocationID.x, base = gl_WorkGroupID.x * 1024u;
    for (uint i = 0u; i < 4u; i++) data[lane + 256u * i] = x[base + lane + 256u * i];
    barrier();
    for (uint span = 1u; span < 1024u; span *= 4u) {
        uint k = lane & (span - 1u), step = 256u / span;
        vec2 a = data[lane];
        vec2 b = times(data[lane + 256u], twiddles[k * step]);
        vec2 c = times(data[lane + 512u], twiddles[2u * k * step]);
        vec2 d = times(data[lane + 768u], twiddles[3u * k * step]);
        vec2 s = a + c, t = a - c, u = b + d, v = b - d;
        vec2 turned = vec2(v.y, -v.x);
        barrier();
        uint to = (lane - k) * 4u + k;
        data[to] = s + u;
        data[to + span] = t + turned;
        data[to + 2u * span] = s - u;
        data[to + 3u * span] = t - turned;
        barrier();
    }
    for (uint i = 0u; i < 4u; i++) y[base + lane + 256u * i] = data[lane + 256u * i];
}
