#version 450
// Softmax of each row, a workgroup per row.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer In { float x[]; };
layout(std430, binding = 1) writeonly buffer Out { float y[]; };
layout(push_constant) uniform Push { uint n; };
shared float parts[256];
void main() {
    uint base = gl_WorkGroupID.x * n, lane = gl_LocalInvocationID.x;
    float most = -1e30;
    for (uint i = lane; i < n; i += 256u) most = max(most, x[base + i]);
    parts[lane] = most;
    barrier();
    for (uint s = 128u; s > 0u; s >>= 1u) {
        if (lane < s) parts[lane] = max(parts[lane], parts[lane + s]);
        barrier();
    }
    most = parts[0];
    barrier();
    float sum = 0.0;
    for (uint i = lane; i < n; i += 256u) sum += exp(x[base + i] - most);
    parts[lane] = sum;
    barrier();
    for (uint s = 128u; s > 0u; s >>= 1u) {
        if (lane < s) parts[lane] += parts[lane + s];
        barrier();
    }
    float scale = 1.0 / parts[0];
    for (uint i = lane; i < n; i += 256u) y[base + i] = exp(x[base + i] - most) * scale;
}
