#version 450
// GLSL.std.450 instructions that are lowered by the frontend.
layout(local_size_x = 16) in;
layout(set = 0, binding = 0) readonly buffer In { vec4 a[]; };
layout(set = 0, binding = 1) buffer Out { vec4 o[]; };
layout(set = 0, binding = 2) buffer OutU { uvec4 ou[]; };
void main() {
    uint i = gl_LocalInvocationIndex;
    vec4 x = a[i], y = a[(i + 1u) & 15u];
    uint n = i * 16u;
    o[n + 0] = sign(x);
    o[n + 1] = fract(x);
    o[n + 2] = clamp(x, -1.0, 1.0);
    o[n + 3] = mix(x, y, 0.25);
    o[n + 4] = step(x, y);
    o[n + 5] = smoothstep(vec4(-2.0), vec4(2.0), x);
    o[n + 6] = vec4(cross(x.xyz, y.xyz), dot(x, y));
    o[n + 7] = vec4(reflect(x.xyz, y.xyz), length(x));
    o[n + 8] = vec4(faceforward(x.xy, y.xy, x.zw), distance(x, y), degrees(x.x));
    int e; float m = frexp(x.x, e);
    o[n + 9] = vec4(m, float(e), ldexp(m, e), roundEven(x.y));
    float w; float f = modf(x.z, w);
    o[n + 10] = vec4(f, w, unpackHalf2x16(packHalf2x16(x.zw)));
    o[n + 11] = unpackSnorm4x8(packSnorm4x8(x * 0.25));
    mat2 m2 = mat2(x.xy, y.xy) ; m2[0][0] += 8.0; m2[1][1] += 8.0;
    mat2 id = inverse(m2) * m2;
    o[n + 12] = vec4(id[0], id[1]);
    o[n + 13] = vec4(unpackUnorm2x16(packUnorm2x16(x.xy)), normalize(x.xy));
    mat4 m4 = mat4(x, y, x.wzyx, y.yxwz); m4[0][0] += 20.0; m4[1][1] += 20.0; m4[2][2] += 20.0; m4[3][3] += 20.0;
    mat4 i4 = inverse(m4) * m4;
    o[n + 14] = vec4(i4[0][0], i4[1][2], i4[3][3], determinant(m4));
    o[n + 15] = vec4(isnan(x.x), isinf(x.y), any(lessThan(x, y)), all(greaterThanEqual(x, y)));
    uvec4 b = floatBitsToUint(x);
    uint lo, hi, c; umulExtended(b.x, b.y, hi, lo);
    ou[n + 0] = uvec4(lo, hi, uaddCarry(b.x, b.y, c), c);
    ou[n + 1] = uvec4(bitCount(b.x), findLSB(b.y), findMSB(b.z), bitfieldReverse(b.w));
    ou[n + 2] = uvec4(bitfieldExtract(b.x, 3, 7), uint(bitfieldExtract(int(b.y), 5, 9)), bitfieldInsert(b.z, b.w, 4, 8), packHalf2x16(x.xy));
    ou[n + 3] = uvec4(packUnorm4x8(x), packSnorm2x16(x.xy), uint(abs(int(b.x))), uint(sign(int(b.y))));
}
