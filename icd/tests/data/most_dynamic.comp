#version 450
layout(local_size_x = 8) in;
layout(constant_id = 0) const uint uniforms = 1;
layout(constant_id = 1) const uint storages = 1;
layout(set = 0, binding = 0) buffer Result { uint result[]; };
layout(set = 0, binding = 1) uniform Uniform { uint word; } u[uniforms];
layout(set = 1, binding = 0) readonly buffer Storage { uint word; } s[storages];
// Reads 64 buffers of each kind, from the first to the last.
void main() {
    for (uint k = 0; k < 64; ++k) {
        result[2 * k] = u[k * (uniforms - 1) / 63].word;
        result[2 * k + 1] = s[k * (storages - 1) / 63].word;
    }
}
