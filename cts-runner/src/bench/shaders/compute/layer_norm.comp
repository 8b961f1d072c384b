#version 450
// Layer norm of each row with gain and bias, a workgroup per row.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer In { float x[]; };
layout(std430, binding = 1) writeonly buffer Out { float y[]; };
layout(std430, binding = 2) readonly buffer Gain { vec2 gain_bias[]; };
layout(push_constant) uniform Push { uint n; };
shared vec2 parts[256];
void main() {
    uint base = gl_WorkGroupID.x * n, lane = gl_LocalInvocationID.x;
    vec2 sums = vec2(0.0);
    for (uint i = lane; i < n; i += 256u) {
        float v = x[base + i];
        sums += vec2(v, v * v);
    }
    parts[lane] = sums;
    barrier();
    for (uint s = 128u; s > 0u; s >>= 1u) {
        if (lane < s) parts[lane] += parts[lane + s];
        barrier();
    }
    float mean = parts[0].x / float(n);
    float scale = inversesqrt(parts[0].y / float(n) - mean * mean + 1e-5);
    for (uint i = lane; i < n; i += 256u)
        y[base + i] = (x[base + i] - mean) * scale * gain_bias[i].x + gain_bias[i].y;
}
