#version 450
layout(local_size_x = 64) in;
layout(constant_id = 0) const float TINY = 1.5e-38;
layout(constant_id = 1) const float THREE = 3.0;
layout(constant_id = 2) const int SEVEN = 7;
layout(set = 0, binding = 0) buffer Data { float data[]; };

// Computes results that depend on rounding, denormals or exceptions: those of constants, which are
// folded when the pipeline is created, and those of data.
void main() {
    uint i = gl_GlobalInvocationID.x;
    float x = data[i * 16u];
    data[i * 16u + 1u] = TINY * 0.25;
    data[i * 16u + 2u] = 1.0 / THREE;
    data[i * 16u + 3u] = sqrt(THREE) + sin(THREE) * exp(THREE / 7.0);
    data[i * 16u + 4u] = pow(THREE, 0.3) - log(THREE * 1.7);
    data[i * 16u + 5u] = float(SEVEN * 12345679) * 0.1;
    data[i * 16u + 6u] = uintBitsToFloat(packHalf2x16(vec2(THREE / 7.0, TINY * 0.5)));
    data[i * 16u + 7u] = TINY * 1e-3 + THREE * 1e-39;
    data[i * 16u + 8u] = x * 0.25;
    data[i * 16u + 9u] = x / 3.0;
    data[i * 16u + 10u] = sqrt(abs(x)) + sin(x) * exp(x * 0.01);
    data[i * 16u + 11u] = pow(abs(x), 0.3) - log(abs(x) * 1.7);
    data[i * 16u + 12u] = float(floatBitsToInt(x)) * 0.1;
    data[i * 16u + 13u] = uintBitsToFloat(packHalf2x16(vec2(x / 7.0, x * TINY)));
    data[i * 16u + 14u] = x / (x - x) + inversesqrt(x - x);
    data[i * 16u + 15u] = fma(x, x, TINY) + dot(vec3(x, THREE, TINY), vec3(0.1, 0.2, 0.3));
}
