#version 450
#extension GL_NV_shader_atomic_fp16_vector : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_scalar_block_layout : require
// Adds vectors of halves at addresses that invocations share; sums are exact, so that their order
// does not matter.
layout(local_size_x = 64) in;
layout(scalar, set = 0, binding = 0) buffer Sums { float16_t before; f16vec2 sum; f16vec4 least; f16vec4 most; f16vec2 last; float16_t after; } sums;
layout(set = 0, binding = 1, rg16f) uniform image2D two;
layout(set = 0, binding = 2, rgba16f) uniform image2D four;
layout(scalar, set = 0, binding = 3) buffer Out { f16vec4 total; f16vec4 old; f16vec2 old2; uint found; } result;
shared f16vec4 total;

void main() {
    uint i = gl_LocalInvocationIndex;
    float16_t x = float16_t(i);
    if (i == 0) {
        total = f16vec4(0.0);
        result.found = 0;
    }
    barrier();
    // The previous value is the sum of some invocations' values: the second component follows from
    // the first.
    f16vec4 found = atomicAdd(total, f16vec4(0.5, 1.0, -1.0, 2.0));
    if (found == f16vec4(0.5, 1.0, -1.0, 2.0) * (found.x * 2.0hf)) atomicAdd(result.found, 1);
    atomicAdd(sums.sum, f16vec2(x, -0.5));
    atomicMin(sums.least, f16vec4(-x, x, 1.0, -1.0));
    atomicMax(sums.most, f16vec4(-x, x, 1.0, -1.0));
    ivec2 at = ivec2(i & 1u, 1);
    imageAtomicAdd(two, at, f16vec2(1.0, -x));
    imageAtomicAdd(four, at, f16vec4(1.0, 2.0, 0.25, -x));
    imageAtomicMin(two, at + ivec2(0, 1), f16vec2(-x, x));
    imageAtomicMax(four, at + ivec2(0, 1), f16vec4(-x, x, 1.0, -1.0));
    // This texel is outside of the image.
    imageAtomicAdd(four, ivec2(4, 0), f16vec4(1.0));
    barrier();
    if (i == 63) {
        result.total = total;
        atomicExchange(sums.last, f16vec2(7.5, -0.0));
        result.old = imageAtomicExchange(four, ivec2(1, 1), f16vec4(1.0, 2.0, 3.0, 4.0));
        result.old2 = imageAtomicExchange(two, ivec2(0, 0), f16vec2(5.0, 6.0));
    }
}
