// An FFT of POINTS complex numbers in the registers of one invocation, wholly unrolled by the preprocessor's constants.
layout(std430, binding = 1) readonly buffer X { vec2 x[]; };
vec2 times(vec2 a, vec2 b) { return vec2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
#define W(k, n) vec2(cos(-6.2831853 * float(k) / float(n)), sin(-6.2831853 * float(k) / float(n)))
#define PAIR(i, j, k, n) { vec2 t = times(v[j], W(k, n)); v[j] = v[i] - t; v[i] += t; }
void main() {
    uint id = gl_LocalInvocationIndex;
    vec2 v[POINTS];
    for (int i = 0; i < POINTS; i++) v[i] = x[id + uint(bitfieldReverse(i << (32 - BITS))) * 17u] - 0.5;
    for (int size = 2; size <= POINTS; size *= 2)
        for (int base = 0; base < POINTS; base += size)
            for (int k = 0; k < size / 2; k++) PAIR(base + k, base + k + size / 2, k, size)
    pixels[id] = packUnorm4x8(vec4(0.5 + 0.1 * v[1], length(v[POINTS / 2]) * 0.2, 1.0));
}
