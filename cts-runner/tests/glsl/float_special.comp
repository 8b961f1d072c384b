#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float -1 1
void main() {
    float zero = f(0u) - f(0u);
    float infinite = 1.0 / zero;
    bvec4 a = isinf(vec4(infinite, f(0u), -infinite, 3.0));
    put(uvec4(a.x, a.y, a.z, a.w) * 3u + uvec4(isnan(f(1u)), f(0u) < f(1u), f(2u) != f(2u), infinite > 1e30));
}
