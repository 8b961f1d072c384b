#version 450
#extension GL_GOOGLE_include_directive : require
#include "reduce64.glsl"
// y = W x, a workgroup per row: f16 weights, four to a load.
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer W { uvec2 w[]; };
layout(std430, binding = 1) readonly buffer X { vec4 x[]; };
layout(std430, binding = 2) writeonly buffer Y { float y[]; };
layout(push_constant) uniform Push { uint n; };
void main() {
    uint row = gl_WorkGroupID.x;
    float sum = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < n / 4u; i += 64u) {
        uvec2 four = w[row * (n / 4u) + i];
        sum += dot(vec4(unpackHalf2x16(four.x), unpackHalf2x16(four.y)), x[i]);
    }
    sum = reduced(sum);
    if (gl_LocalInvocationID.x == 0u) y[row] = sum;
}
