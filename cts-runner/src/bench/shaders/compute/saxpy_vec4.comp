#version 450
// z = a x + y, four elements per invocation.
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer X { vec4 x[]; };
layout(std430, binding = 1) readonly buffer Y { vec4 y[]; };
layout(std430, binding = 2) writeonly buffer Z { vec4 z[]; };
layout(push_constant) uniform Push { float a; uint n; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < n / 4u) z[i] = a * x[i] + y[i];
}
