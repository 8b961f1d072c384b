#version 450
// Cooperative matrices of a subgroup, of any size; where there are several, all of them do the same: products of halves, floats and bytes, of rows and columns, and what else they can do.
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : enable
#extension GL_KHR_cooperative_matrix : enable
#extension GL_EXT_shader_explicit_arithmetic_types : enable
#extension GL_EXT_shader_16bit_storage : enable
#extension GL_EXT_shader_8bit_storage : enable
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer Floats { float floats[]; };
layout(set = 0, binding = 1) readonly buffer Halves { float16_t halves[]; };
layout(set = 0, binding = 2) readonly buffer Bytes { int8_t bytes[]; };
layout(set = 0, binding = 3) buffer Out { float results[]; };
shared float scratch[16 * 20];

const uint S = 16u;
const int ROWS = gl_CooperativeMatrixLayoutRowMajor, COLUMNS = gl_CooperativeMatrixLayoutColumnMajor;
#define MATRIX(T, R, C, USE) coopmat<T, gl_ScopeSubgroup, R, C, gl_MatrixUse##USE>

MATRIX(float, S, S, Accumulator) twice(MATRIX(float, S, S, Accumulator) m) { return m + m; }

void main() {
    // 0: floats of rows, 16×16, through workgroup memory.
    MATRIX(float, S, S, A) a;
    MATRIX(float, S, S, B) b;
    MATRIX(float, S, S, Accumulator) c;
    coopMatLoad(a, floats, 3u, 17u, ROWS);
    coopMatLoad(b, floats, 300u, 16u, COLUMNS);
    coopMatLoad(c, floats, 600u, 18u, ROWS);
    c = coopMatMulAdd(a, b, c);
    coopMatStore(c, scratch, 0u, 20u, COLUMNS);
    barrier();
    coopMatLoad(c, scratch, 0u, 20u, COLUMNS);
    coopMatStore(c, results, 0u, S, ROWS);

    // 1: halves, 8×8, accumulated as floats and as halves.
    MATRIX(float16_t, 8, 8, A) ha;
    MATRIX(float16_t, 8, 8, B) hb;
    coopMatLoad(ha, halves, 0u, 8u, COLUMNS);
    coopMatLoad(hb, halves, 64u, 9u, ROWS);
    MATRIX(float, 8, 8, Accumulator) hc = MATRIX(float, 8, 8, Accumulator)(0.5);
    hc = coopMatMulAdd(ha, hb, hc);
    coopMatStore(hc, results, 256u, 8u, ROWS);
    MATRIX(float16_t, 8, 8, Accumulator) hh = MATRIX(float16_t, 8, 8, Accumulator)(float16_t(0.5));
    hh = coopMatMulAdd(ha, hb, hh);
    coopMatStore(MATRIX(float, 8, 8, Accumulator)(hh), results, 320u, 8u, ROWS);

    // 2: bytes, wrapping and saturating.
    MATRIX(int8_t, 8, 8, A) ia;
    MATRIX(int8_t, 8, 8, B) ib;
    coopMatLoad(ia, bytes, 0u, 8u, ROWS);
    coopMatLoad(ib, bytes, 64u, 8u, COLUMNS);
    MATRIX(int, 8, 8, Accumulator) ic = MATRIX(int, 8, 8, Accumulator)(0x7fffff00);
    MATRIX(int, 8, 8, Accumulator) wrapped = coopMatMulAdd(ia, ib, ic);
    MATRIX(int, 8, 8, Accumulator) cut = coopMatMulAdd(ia, ib, ic, gl_MatrixOperandsSaturatingAccumulation);
    MATRIX(int, 8, 8, Accumulator) under = coopMatMulAdd(ia, ib, -ic, gl_MatrixOperandsSaturatingAccumulation);
    // Exact as floats after the shift.
    for (uint i = 0u; i < wrapped.length(); i++) {
        wrapped[i] = (wrapped[i] >> 8) + int(wrapped[i] & 255);
        cut[i] = (cut[i] >> 8) + int(cut[i] & 255);
        under[i] = (under[i] >> 8) + int(under[i] & 255);
    }
    coopMatStore(MATRIX(float, 8, 8, Accumulator)(wrapped), results, 384u, 8u, ROWS);
    coopMatStore(MATRIX(float, 8, 8, Accumulator)(cut), results, 448u, 8u, ROWS);
    coopMatStore(MATRIX(float, 8, 8, Accumulator)(under), results, 512u, 8u, ROWS);

    // 3: element by element; behind the end of the buffer there are zeros.
    MATRIX(float, S, S, Accumulator) d;
    coopMatLoad(d, floats, 900u, 16u, ROWS);
    d = twice(d) * 3.0;
    d = -d / MATRIX(float, S, S, Accumulator)(7.0);
    d = d - MATRIX(float, S, S, Accumulator)(1.0);
    coopMatStore(d, results, 576u, S, COLUMNS);
    // What lies outside is not stored.
    coopMatStore(d, results, 832u, S, ROWS);
}
