#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shared_memory_block : require
#extension GL_EXT_shader_atomic_int64 : require

layout(local_size_x = 16) in;

layout(set = 0, binding = 0) buffer In { uint x[16]; };
layout(set = 0, binding = 1) buffer Out { uint words[16][6]; };
layout(set = 0, binding = 2) buffer Long { uint64_t total; int64_t least; uint64_t seen[16]; };

// Blocks of workgroup memory lie at one place.
shared Words { uint w[16]; };
shared Bytes { uint8_t b[64]; };
layout(scalar) shared Mixed { uint8_t first; layout(offset = 6) u16vec3 half_[9]; };
shared Longs { uint64_t l[8]; };
layout(std140) shared Rows { layout(row_major) mat2x3 m; };

void main() {
    uint i = gl_LocalInvocationIndex;
    w[i] = x[i];
    barrier();
    words[i][0] = uint(b[(i * 4 + 5) % 64]) | uint(first) << 8 | uint(half_[i % 9].y) << 16;
    words[i][1] = uint(l[i & 7] >> 24);
    words[i][2] = floatBitsToUint(m[i & 1][i % 3]);
    barrier();
    b[i] = uint8_t(x[i] >> 8);
    barrier();
    words[i][3] = w[i];
    barrier();
    uint64_t mine = uint64_t(x[i]) << 20 | uint64_t(i);
    atomicXor(l[1], mine);
    atomicMax(l[2], mine);
    barrier();
    words[i][4] = uint(l[1]) ^ uint(l[1] >> 32);
    words[i][5] = uint(l[2]) ^ uint(l[2] >> 32);
    seen[i] = atomicAdd(total, mine);
    atomicMin(least, -int64_t(mine));
}
