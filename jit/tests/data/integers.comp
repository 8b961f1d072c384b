#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_scalar_block_layout : require

layout(local_size_x = 16) in;

layout(constant_id = 0) const int16_t spec16 = int16_t(-3);
layout(constant_id = 1) const uint64_t spec64 = 0x123456789abcdef0ul;
layout(constant_id = 2) const int64_t wide_spec = int64_t(-5);
const int64_t derived = int64_t(spec64) * int64_t(3) - (wide_spec << 3);
const int16_t derived16 = spec16 * spec16 / int16_t(2);

struct Item {
    u8vec4 b;
    i16vec2 s;
    uint64_t l;
    int64_t m;
};

struct Packed {
    uint8_t a;
    i16vec3 b;
    i8vec2 c;
    uint64_t d;
};

layout(set = 0, binding = 0, scalar) readonly buffer In { Item item[16]; };
layout(set = 0, binding = 1) buffer Out { uint words[16][24]; };
layout(set = 0, binding = 2, scalar) buffer Narrow { Packed packed[16]; };
layout(set = 1, binding = 0, scalar) uniform U { uint8_t u8[16]; i16vec3 u16[16]; u64vec2 u64; };
layout(push_constant, scalar) uniform P { int8_t p8[3]; uint16_t p16; uint64_t p64; };

shared uint8_t s8[16];
shared i16vec3 s16[16];

uint hash(uint64_t x) {
    return uint(x) ^ uint(x >> 32);
}

void main() {
    uint i = gl_LocalInvocationIndex;
    Item x = item[i];
    uint8_t b = x.b.x, c = x.b.y;
    int8_t ib = int8_t(x.b.z), ic = int8_t(x.b.w | uint8_t(1));
    int16_t s = x.s.x, t = x.s.y | int16_t(1);
    uint16_t us = uint16_t(s), ut = uint16_t(t);
    uint64_t l = x.l, o = l >> 33 | 1ul;
    int64_t m = x.m, n = int64_t(ic) * int64_t(1000000007);

    uint r[24];
    r[0] = uint(uint8_t(b + c)) | uint(uint8_t(b * c)) << 8 | uint(uint8_t(b - c)) << 16 | uint(uint8_t(~b)) << 24;
    r[1] = uint(int(ib / ic)) ^ uint(int(ib % ic)) << 16;
    r[2] = uint(int(int16_t(s * t))) ^ uint(us / ut) << 7 ^ uint(us % ut) << 19;
    r[3] = uint(int(s / t)) + uint(int(s >> (b & uint8_t(15)))) * 3 + uint(uint16_t(us << (c & uint8_t(15)))) * 5;
    r[4] = hash(l * uint64_t(m));
    r[5] = hash(l / o) + 3 * hash(l % o);
    r[6] = hash(uint64_t(m / n)) + 3 * hash(uint64_t(m % n));
    r[7] = hash(l << (b & uint8_t(63))) + 3 * hash(l >> (c & uint8_t(63))) + 5 * hash(uint64_t(m >> (b & uint8_t(63))));
    r[8] = uint(max(b, c)) + 256 * uint(min(us, ut)) + 3 * uint(int(max(s, t))) + 5 * hash(max(l, uint64_t(m)));
    r[9] = uint(int(abs(ib))) + 3 * uint(int(sign(s))) + 5 * hash(uint64_t(abs(m))) + 7 * hash(uint64_t(sign(m)));
    r[10] = uint(int(clamp(s, int16_t(-500), int16_t(700)))) + 3 * hash(uint64_t(min(m, n)));
    r[11] = pack32(x.b.wzyx) + 3 * uint(pack16(x.b.zx));
    r[12] = hash(pack64(u32vec2(r[0], r[3]))) + 3 * hash(pack64(u16vec4(us, ut, us, uint16_t(b))));
    u8vec4 v = unpack8(r[4]);
    i16vec4 w = unpack16(m);
    r[13] = uint(v.x) + 3 * uint(v.w) + 5 * uint(int(w.x)) + 7 * uint(int(w.w));
    r[14] = uint(uint8_t(l)) + 3 * uint(int(int8_t(m))) + 5 * uint(int(int16_t(m))) + 7 * hash(uint64_t(s)) + 11 * hash(uint64_t(us)) + 13 * hash(uint64_t(int64_t(ib)));
    r[15] = uint(b < c) | uint(ib < ic) << 1 | uint(us <= ut) << 2 | uint(s > t) << 3 | uint(l < o) << 4 | uint(m < n) << 5 | uint(m == int64_t(l)) << 6;
    uint8_t array[5] = uint8_t[5](b, c, uint8_t(ib), uint8_t(ic), uint8_t(7));
    array[uint(b) % 5] += uint8_t(9);
    uint64_t longs[3] = uint64_t[3](l, uint64_t(m), o);
    longs[uint(c) % 3] ^= 0xfffffffff0ul;
    r[16] = uint(array[uint(c) % 5]) + 3 * hash(longs[uint(b) % 3]);
    r[17] = uint(int(derived16)) + 3 * hash(uint64_t(derived)) + 5 * hash(spec64);
    r[18] = uint(u8[i]) + 3 * uint(int(u16[15 - i].y)) + 5 * hash(u64[i & 1]) + 7 * uint(int(p8[i % 3])) + 11 * uint(p16) + 13 * hash(p64);
    s8[i] = b;
    s16[i] = i16vec3(s, t, s);
    barrier();
    r[19] = uint(s8[i ^ 5]) + 3 * uint(int(s16[15 - i].y)) + 5 * uint(int(s16[i ^ 3].z));
    uint64_t select = b < c ? l : uint64_t(m);
    int16_t phi = s;
    if (c > b) {
        phi = int16_t(t + s);
    }
    for (uint8_t k = uint8_t(0); k < (b & uint8_t(7)); k++) {
        phi ^= int16_t(int16_t(k) << s16[i].x);
    }
    r[20] = hash(select) + 3 * uint(int(phi));
    r[21] = uint(int(int16_t(-s))) + 3 * hash(uint64_t(-m)) + 5 * hash(l & o) + 7 * hash(l ^ uint64_t(m)) + 11 * hash(~l | o);
    r[22] = uint(item[uint(b) & 15].b[c & uint8_t(3)]) + 3 * hash(item[x.b.w & uint8_t(15)].l);
    r[23] = hash(l + o) + 3 * hash(uint64_t(m - n)) + 5 * uint(any(lessThan(x.b, u8vec4(100))));
    words[i] = r;
    packed[i] = Packed(b, i16vec3(s, t, phi), i8vec2(ib, ic), l);
}
