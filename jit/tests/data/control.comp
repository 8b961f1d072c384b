#version 450
// Every shape of structured control flow; out[i] is compared with the same function in Rust.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer In { uint a[]; };
layout(set = 0, binding = 1) buffer Out { uint o[]; };
uint early(uint x) {
    if (x > 40u) return x * 3u;
    for (uint i = 0u; i < 10u; i++) {
        if (i == x) return i + 100u;
        if (i > 7u) break;
        if ((i & 1u) == 0u) continue;
        x += 2u;
    }
    return x;
}
uint sw(uint x) {
    uint r = 1u;
    switch (x % 9u) {
        case 0u: r = 10u; break;
        case 1u: r += 20u; // falls through
        case 2u: r += 30u;
        case 7u: if (x > 30u) break; r += 5u; break;
        case 3u: for (uint i = 0u; i < 4u; ++i) { if (i == x % 4u) break; r += i * 7u; }
        default: r ^= 0x55u; // falls into 5
        case 5u: r += 1u; break;
        case 6u: return 77u;
    }
    return r;
}
uint nested(uint x) {
    uint s = 0u;
    for (uint i = 0u; i < x % 7u; ++i) {
        uint j = 0u;
        while (true) {
            if (j > i) break;
            s += i * j + 1u;
            if (s > 50u) { s -= 17u; ++j; continue; }
            j += 1u + (s & 1u);
        }
        do { s ^= j; j--; } while (j > 2u && j < 100u);
        if (i == 4u) break;
    }
    return s;
}
uint gcd(uint a, uint b) { while (b != 0u) { uint t = b; b = a % b; a = t; } return a; }
uint fib(uint n) { uint a = 0u, b = 1u; for (; n > 0u; --n) { uint t = a + b; a = b; b = t; } return a; }
bool side(inout uint c) { c += 1u; return (c & 1u) == 1u; }
uint logic(uint x) { uint c = x; bool r = (x > 3u && side(c)) || (x < 60u && side(c)); return c * 2u + uint(r); }
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint x = a[i];
    o[i * 8u + 0u] = early(x);
    o[i * 8u + 1u] = sw(x);
    o[i * 8u + 2u] = nested(x);
    o[i * 8u + 3u] = gcd(x, i + 1u);
    o[i * 8u + 4u] = fib(x % 20u);
    o[i * 8u + 5u] = logic(x);
    if (x == 13u) return;
    o[i * 8u + 6u] = x > 5u ? (x > 9u ? 1u : 2u) : 3u;
    o[i * 8u + 7u] = 99u;
}
