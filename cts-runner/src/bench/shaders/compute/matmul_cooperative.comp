#version 450
// C = A B, cooperative matrices of 8x8: a subgroup of 8 makes 32x16 of C.
//! api 1.3
//! glslang 15
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
layout(local_size_x = 8) in;
layout(std430, binding = 0) readonly buffer A { float a[]; };
layout(std430, binding = 1) readonly buffer B { float b[]; };
layout(std430, binding = 2) writeonly buffer C { float c[]; };
layout(push_constant) uniform Push { uint n; };
const uint S = 8u;
const int ROWS = 4, COLUMNS = 2, LAYOUT = gl_CooperativeMatrixLayoutRowMajor;
#define MATRIX(USE) coopmat<float, gl_ScopeSubgroup, S, S, gl_MatrixUse##USE>
void main() {
    uint row = gl_WorkGroupID.y * S * ROWS, column = gl_WorkGroupID.x * S * COLUMNS;
    MATRIX(Accumulator) sums[ROWS][COLUMNS];
    for (int i = 0; i < ROWS; i++) for (int j = 0; j < COLUMNS; j++) sums[i][j] = MATRIX(Accumulator)(0.0);
    for (uint t = 0u; t < n; t += S) {
        MATRIX(A) left[ROWS];
        MATRIX(B) right[COLUMNS];
        for (int i = 0; i < ROWS; i++) coopMatLoad(left[i], a, (row + i * S) * n + t, n, LAYOUT);
        for (int j = 0; j < COLUMNS; j++) coopMatLoad(right[j], b, t * n + column + j * S, n, LAYOUT);
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++) sums[i][j] = coopMatMulAdd(left[i], right[j], sums[i][j]);
    }
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) coopMatStore(sums[i][j], c, (row + i * S) * n + column + j * S, n, LAYOUT);
}
