#version 450
#extension GL_EXT_shader_atomic_float : require
#extension GL_EXT_shader_atomic_float2 : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_image_int64 : require
// Adds floats and long integers at addresses that invocations share; sums are exact, so that their
// order does not matter.
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Sums { float f; float least; float most; float last; double d; float16_t h; float16_t small; } sums;
layout(set = 0, binding = 1, r32f) uniform image2D floats;
layout(set = 0, binding = 2, r64ui) uniform u64image2D longs;
layout(set = 0, binding = 3) buffer Out { uint64_t old; uint64_t read; float shared_sum; float image_sum; } result;
shared float total;

void main() {
    uint i = gl_LocalInvocationIndex;
    if (i == 0) total = 0.0;
    barrier();
    atomicAdd(total, 0.5);
    atomicAdd(sums.f, float(i));
    atomicMin(sums.least, -float(i));
    atomicMax(sums.most, float(i) * 0.25);
    atomicAdd(sums.d, double(i) * 0.125);
    atomicAdd(sums.h, float16_t(1.0));
    atomicMin(sums.small, float16_t(-float(i)));
    imageAtomicAdd(floats, ivec2(i & 1u, 1), float(i));
    imageAtomicMax(longs, ivec2(1, 2), uint64_t(i) << 33);
    imageAtomicAdd(longs, ivec2(2, 2), 0x100000001ul);
    imageAtomicAdd(longs, ivec2(9, 2), 1ul);
    barrier();
    if (i == 0) {
        atomicExchange(sums.last, 7.5);
        result.old = imageAtomicCompSwap(longs, ivec2(1, 2), 63ul << 33, 5ul);
        result.shared_sum = total;
        result.image_sum = imageLoad(floats, ivec2(1, 1)).x;
        imageStore(longs, ivec2(0, 0), u64vec4(0x1122334455667788ul));
        memoryBarrierImage();
        result.read = imageLoad(longs, ivec2(0, 0)).x + imageLoad(longs, ivec2(1, 2)).x + imageLoad(longs, ivec2(2, 2)).x;
    }
}
