#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) writeonly buffer Out { uint pixels[256]; };
layout(std430, binding = 1) readonly buffer X { vec2 x[]; };
shared vec2 data[256];
vec2 times(vec2 a, vec2 b) { return vec2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
vec2 turn(uint k) { float a = -6.2831853 * float(k) / 256.0; return vec2(cos(a), sin(a)); }
void main() {
    uint lane = gl_LocalInvocationIndex;
    for (uint i = 0u; i < 4u; i++) data[lane + 64u * i] = x[lane + 64u * i] - 0.5;
    barrier();
    for (uint span = 1u; span < 256u; span *= 4u) {
        uint k = lane & (span - 1u), step = 64u / span;
        vec2 a = data[lane], b = times(data[lane + 64u], turn(k * step)), c = times(data[lane + 128u], turn(2u * k * step)), d = times(data[lane + 192u], turn(3u * k * step));
        vec2 s = a + c, t = a - c, u = b + d, v = vec2(b.y - d.y, d.x - b.x);
        barrier();
        uint to = (lane - k) * 4u + k;
        data[to] = s + u;
        data[to + span] = t + v;
        data[to + 2u * span] = s - u;
        data[to + 3u * span] = t - v;
        barrier();
    }
    for (uint i = 0u; i < 4u; i++) pixels[lane + 64u * i] = packUnorm4x8(vec4(0.5 + 0.05 * data[lane + 64u * i], 0.0, 1.0));
}
