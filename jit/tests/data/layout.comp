#version 450
#extension GL_EXT_scalar_block_layout : enable
// Layout rules: offsets, array and matrix strides, row-major and column-major, nested structures, dynamic indices everywhere.
layout(local_size_x = 4) in;
struct S { vec3 p; float w; mat2x3 m; uint k[3]; };
layout(set = 1, binding = 0, std140) uniform U { float f[4]; mat3 cm; layout(row_major) mat3x2 rm; S s[2]; } u;
layout(set = 0, binding = 0, std430) buffer In { layout(row_major) mat4 m; S s[3]; vec2 tail[]; } b;
layout(set = 0, binding = 1) buffer Out { float o[]; };
layout(push_constant) uniform P { uint base; layout(offset = 16) vec4 v; } pc;
void main() {
    uint i = gl_LocalInvocationIndex;
    uint at = i * 16u;
    o[at + 0] = u.f[i];
    o[at + 1] = u.cm[i % 3u][(i + 1u) % 3u];
    o[at + 2] = u.rm[i % 3u][i % 2u];
    o[at + 3] = u.s[i % 2u].m[1].y + float(u.s[1].k[i % 3u]);
    vec4 col = b.m[i];
    o[at + 4] = col.x; o[at + 5] = col.w;
    S s = b.s[i % 3u];
    o[at + 6] = s.p.z + s.w;
    o[at + 7] = s.m[i % 2u].z;
    o[at + 8] = float(b.tail.length());
    o[at + 9] = b.tail[i].y;
    o[at + 10] = pc.v[i] + float(pc.base);
    b.m[i].z = float(i) + 0.5;
    b.s[i % 3u].m[1] = vec3(i, 2, 3);
    float arr[5];
    for (int j = 0; j < 5; ++j) arr[j] = float(j * j);
    arr[i] += 0.25;
    o[at + 11] = arr[i] + arr[(i + 1u) % 5u];
    mat3 t = transpose(u.cm);
    vec3 q = t * vec3(1, 2, 3);
    q[i % 3u] = 7.0;
    o[at + 12] = q.x + q.y * 10.0 + q.z * 100.0;
    S copy = s; copy.k[2] = 5u; copy.p[i % 3u] = -1.0;
    o[at + 13] = float(copy.k[i % 3u]) + copy.p.x;
    mat2 a2[2] = mat2[2](mat2(1, 2, 3, 4), mat2(5, 6, 7, 8));
    o[at + 14] = a2[i & 1u][i >> 1u][1];
    o[at + 15] = determinant(u.cm);
}
