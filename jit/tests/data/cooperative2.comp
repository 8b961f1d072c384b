#version 450
// What functions of elements, reductions and matrices of another use make of cooperative matrices.
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : enable
#extension GL_KHR_cooperative_matrix : enable
#extension GL_NV_cooperative_matrix2 : enable
#extension GL_EXT_shader_explicit_arithmetic_types : enable
#extension GL_EXT_bfloat16 : enable
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) readonly buffer Floats { float floats[]; };
layout(set = 0, binding = 1) readonly buffer Ints { int ints[]; };
layout(set = 0, binding = 2) buffer Out { float results[]; };
layout(set = 0, binding = 3) buffer OutInts { int sums[]; };

const uint S = 16u;
const int ROWS = gl_CooperativeMatrixLayoutRowMajor;
#define MATRIX(T, R, C, USE) coopmat<T, gl_ScopeSubgroup, R, C, gl_MatrixUse##USE>

float placed(const in uint32_t row, const in uint32_t column, const in float x, const in vec2 more, const in float other) {
    if (row == column) return more.y;
    return x * more.x + float(row * S + column) + other;
}
int sum(const in int a, const in int b) { return a + b; }
float greatest(const in float a, const in float b) {
    if (a < b) return b;
    return a;
}

void main() {
    MATRIX(float, S, S, Accumulator) m, other;
    MATRIX(int, S, S, Accumulator) n;
    MATRIX(float, 8, S, Accumulator) half_m;
    MATRIX(int, 8, 8, Accumulator) small;
    coopMatLoad(m, floats, 0u, S, ROWS);
    coopMatLoad(other, floats, 256u, S, ROWS);
    coopMatLoad(n, ints, 0u, S, ROWS);
    coopMatLoad(half_m, floats, 64u, S, ROWS);
    coopMatLoad(small, ints, 100u, 8u, ROWS);

    // 0: of each element, its place, a vector and another matrix's element.
    MATRIX(float, S, S, Accumulator) each;
    coopMatPerElementNV(each, m, placed, vec2(3.0, -7.0), other);
    coopMatStore(each, results, 0u, S, ROWS);
    // 256: the greatest of 2×2.
    MATRIX(float, 8, 8, Accumulator) squares;
    coopMatReduceNV(squares, m, gl_CooperativeMatrixReduce2x2NV, greatest);
    coopMatStore(squares, results, 256u, 8u, ROWS);
    // 320: of rows, and of all.
    MATRIX(float, S, S, Accumulator) same;
    coopMatReduceNV(same, m, gl_CooperativeMatrixReduceRowNV, greatest);
    coopMatStore(same, results, 320u, S, ROWS);
    coopMatReduceNV(same, m, gl_CooperativeMatrixReduceRowAndColumnNV, greatest);
    coopMatStore(same, results, 576u, S, ROWS);
    // 832: a product with its transposed.
    MATRIX(float, 8, S, A) a = MATRIX(float, 8, S, A)(half_m);
    MATRIX(float, S, 8, B) b;
    coopMatTransposeNV(b, half_m);
    MATRIX(float, 8, 8, Accumulator) product = MATRIX(float, 8, 8, Accumulator)(1.0);
    coopMatStore(coopMatMulAdd(a, b, product), results, 832u, 8u, ROWS);
    // 896: transposed.
    MATRIX(float, S, S, B) turned;
    coopMatTransposeNV(turned, m);
    coopMatStore(turned, results, 896u, S, ROWS);
    coopMatStore(b, results, 1152u, 8u, ROWS);
    // A transposed of another type.
    MATRIX(int8_t, 8, S, B) bytes;
    MATRIX(int, S, 8, Accumulator) columns;
    coopMatReduceNV(columns, n, gl_CooperativeMatrixReduceRowNV, sum);
    coopMatTransposeNV(bytes, columns);
    MATRIX(int, 8, S, B) widened = MATRIX(int, 8, S, B)(bytes);
    coopMatStore(widened, sums, 2944u, S, ROWS);
    MATRIX(bfloat16_t, S, 8, B) brains;
    coopMatTransposeNV(brains, half_m);
    coopMatStore(MATRIX(float, S, 8, B)(brains), results, 1280u, 8u, ROWS);
    // Another type and another use.
    MATRIX(int, S, S, A) whole = MATRIX(int, S, S, A)(m);
    coopMatStore(whole, sums, 0u, S, ROWS);

    // Sums, of matrices with other rows and columns.
    MATRIX(int, S, 8, Accumulator) narrow;
    coopMatReduceNV(narrow, n, gl_CooperativeMatrixReduceRowNV, sum);
    coopMatStore(narrow, sums, 256u, 8u, ROWS);
    MATRIX(int, S, 64, Accumulator) wide;
    coopMatReduceNV(wide, n, gl_CooperativeMatrixReduceRowNV, sum);
    coopMatStore(wide, sums, 384u, 64u, ROWS);
    MATRIX(int, 8, S, Accumulator) low;
    coopMatReduceNV(low, n, gl_CooperativeMatrixReduceColumnNV, sum);
    coopMatStore(low, sums, 1408u, S, ROWS);
    MATRIX(int, 48, S, Accumulator) high;
    coopMatReduceNV(high, n, gl_CooperativeMatrixReduceColumnNV, sum);
    coopMatStore(high, sums, 1536u, S, ROWS);
    MATRIX(int, 8, 8, Accumulator) all;
    coopMatReduceNV(all, n, gl_CooperativeMatrixReduceRowAndColumnNV, sum);
    coopMatStore(all, sums, 2304u, 8u, ROWS);
    coopMatReduceNV(all, small, gl_CooperativeMatrixReduceRowNV, sum);
    coopMatStore(all, sums, 2368u, 8u, ROWS);
    coopMatReduceNV(all, small, gl_CooperativeMatrixReduceColumnNV, sum);
    coopMatStore(all, sums, 2432u, 8u, ROWS);
    MATRIX(int, 24, 8, Accumulator) tall;
    coopMatReduceNV(tall, small, gl_CooperativeMatrixReduceColumnNV, sum);
    coopMatStore(tall, sums, 2496u, 8u, ROWS);
    MATRIX(int, 8, 32, Accumulator) broad;
    coopMatReduceNV(broad, small, gl_CooperativeMatrixReduceRowNV, sum);
    coopMatStore(broad, sums, 2688u, 32u, ROWS);
}
