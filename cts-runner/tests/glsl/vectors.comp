#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input uint
void main() {
    uvec4 a = uv();
    a.zx = a.yw + a.xx;
    uint k = u(3u) & 3u;
    uint picked = a[k];
    a[(k + 1u) & 3u] = 77u;
    put(a.wzyx + uvec4(picked));
}
