#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float -2000 2000
//! output float 1e-3
void main() {
    uint packed = packHalf2x16(v().xy);
    put(vec4(unpackHalf2x16(packed), unpackHalf2x16(packHalf2x16(v().zw * 0.001))));
}
