#version 450
#extension GL_GOOGLE_include_directive : require
#include "hash.glsl"
// Eight rounds of integer noise: a fragment worth not shading twice, with a result that is the same everywhere.
layout(location = 0) flat in uint layer;
layout(location = 0) out vec4 result;
void main() {
    uvec2 p = uvec2(gl_FragCoord.xy);
    uint x = p.x + p.y * 1024u + layer * 0x9e3779b9u;
    for (int i = 0; i < 8; i++) x = hash(x);
    result = unpackUnorm4x8(x);
}
