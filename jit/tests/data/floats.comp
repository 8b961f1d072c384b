#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_16bit_storage : require
layout(local_size_x = 16) in;
layout(set = 0, binding = 0, std430) buffer A { float16_t h[]; };
layout(set = 0, binding = 1, std430) buffer B { double d[]; };
layout(set = 0, binding = 2, std430) buffer C { float16_t r[]; };
layout(set = 0, binding = 3, std430) buffer D { double s[]; };

void main() {
    uint i = gl_GlobalInvocationID.x;
    float16_t a = h[3 * i], b = h[3 * i + 1], c = h[3 * i + 2];
    double x = d[2 * i], y = d[2 * i + 1];

    precise float16_t sum = a * b + c;
    r[8 * i] = sum;
    r[8 * i + 1] = fma(a, b, c);
    r[8 * i + 2] = fract(a);
    r[8 * i + 3] = float16_t(x);
    precise float16_t total = a;
    for (uint n = 0; n < i; n++) {
        total += h[n];
    }
    r[8 * i + 4] = total;
    r[8 * i + 5] = clamp(a, float16_t(-2.5), b);
    r[8 * i + 6] = float16_t(i * 5000u);
    r[8 * i + 7] = radians(a);

    int e;
    s[8 * i] = frexp(x, e);
    s[8 * i + 1] = double(e);
    s[8 * i + 2] = ldexp(y, int(i) * 137 - 1100);
    s[8 * i + 3] = fma(x, y, x);
    s[8 * i + 4] = fract(x);
    s[8 * i + 5] = inversesqrt(abs(y));
    s[8 * i + 6] = packDouble2x32(unpackDouble2x32(x).yx);
    s[8 * i + 7] = double(a) * roundEven(y);
}
