#version 450
// SHA-256 of a 64-byte message per invocation (two compressions: the message and its padding).
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer In { uint message[]; };
layout(std430, binding = 1) writeonly buffer Out { uint digest[]; };
const uint K[64] = uint[64](
    0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u, 0x3956c25bu, 0x59f111f1u, 0x923f82a4u, 0xab1c5ed5u,
    0xd807aa98u, 0x12835b01u, 0x243185beu, 0x550c7dc3u, 0x72be5d74u, 0x80deb1feu, 0x9bdc06a7u, 0xc19bf174u,
    0xe49b69c1u, 0xefbe4786u, 0x0fc19dc6u, 0x240ca1ccu, 0x2de92c6fu, 0x4a7484aau, 0x5cb0a9dcu, 0x76f988dau,
    0x983e5152u, 0xa831c66du, 0xb00327c8u, 0xbf597fc7u, 0xc6e00bf3u, 0xd5a79147u, 0x06ca6351u, 0x14292967u,
    0x27b70a85u, 0x2e1b2138u, 0x4d2c6dfcu, 0x53380d13u, 0x650a7354u, 0x766a0abbu, 0x81c2c92eu, 0x92722c85u,
    0xa2bfe8a1u, 0xa81a664bu, 0xc24b8b70u, 0xc76c51a3u, 0xd192e819u, 0xd6990624u, 0xf40e3585u, 0x106aa070u,
    0x19a4c116u, 0x1e376c08u, 0x2748774cu, 0x34b0bcb5u, 0x391c0cb3u, 0x4ed8aa4au, 0x5b9cca4fu, 0x682e6ff3u,
    0x748f82eeu, 0x78a5636fu, 0x84c87814u, 0x8cc70208u, 0x90befffau, 0xa4506cebu, 0xbef9a3f7u, 0xc67178f2u);
uint rotated(uint v, uint n) { return (v >> n) | (v << (32u - n)); }
void compress(inout uint h[8], inout uint w[16]) {
    uint a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], f = h[5], g = h[6], last = h[7];
    for (uint i = 0u; i < 64u; i++) {
        if (i >= 16u) {
            uint x = w[(i + 1u) & 15u], y = w[(i + 14u) & 15u];
            uint s0 = rotated(x, 7u) ^ rotated(x, 18u) ^ (x >> 3u);
            uint s1 = rotated(y, 17u) ^ rotated(y, 19u) ^ (y >> 10u);
            w[i & 15u] += s0 + w[(i + 9u) & 15u] + s1;
        }
        uint s1 = rotated(e, 6u) ^ rotated(e, 11u) ^ rotated(e, 25u);
        uint t1 = last + s1 + ((e & f) ^ (~e & g)) + K[i] + w[i & 15u];
        uint s0 = rotated(a, 2u) ^ rotated(a, 13u) ^ rotated(a, 22u);
        uint t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
        last = g; g = f; f = e; e = d + t1; d = c; c = b; b = a; a = t1 + t2;
    }
    h[0] += a; h[1] += b; h[2] += c; h[3] += d; h[4] += e; h[5] += f; h[6] += g; h[7] += last;
}
void main() {
    uint id = gl_GlobalInvocationID.x;
    uint h[8] = uint[8](0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au, 0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u);
    uint w[16];
    for (uint i = 0u; i < 16u; i++) w[i] = message[id * 16u + i];
    compress(h, w);
    for (uint i = 0u; i < 16u; i++) w[i] = 0u;
    w[0] = 0x80000000u;
    w[15] = 512u;
    compress(h, w);
    for (uint i = 0u; i < 8u; i++) digest[id * 8u + i] = h[i];
}
