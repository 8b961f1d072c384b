#version 450
#extension GL_GOOGLE_include_directive : require
#include "hash.glsl"
// An unsharp mask of five taps, and film grain.
layout(set = 0, binding = 0) uniform sampler2D image;
layout(location = 0) out vec4 result;
void main() {
    ivec2 at = ivec2(gl_FragCoord.xy), last = textureSize(image, 0) - 1;
    vec3 middle = texelFetch(image, at, 0).rgb;
    vec3 around = texelFetch(image, ivec2(max(at.x - 1, 0), at.y), 0).rgb + texelFetch(image, ivec2(min(at.x + 1, last.x), at.y), 0).rgb;
    around += texelFetch(image, ivec2(at.x, max(at.y - 1, 0)), 0).rgb + texelFetch(image, ivec2(at.x, min(at.y + 1, last.y)), 0).rgb;
    float grain = (unit(uint(at.x) + uint(at.y) * 2048u) - 0.5) * 0.03;
    result = vec4(middle * 1.8 - around * 0.2 + grain, 1.0);
}
