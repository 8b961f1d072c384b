#version 460
//! api 1.2
#extension GL_EXT_ray_query : require
#extension GL_GOOGLE_include_directive : require
// Whether the ray of each pixel reaches its end: white or black. Rays are stored in tiles of 8 by 8 pixels.
#include "ray.glsl"
layout(location = 0) out vec4 color;
layout(push_constant) uniform Size { uint width; };

void main() {
    uvec2 at = uvec2(gl_FragCoord.xy);
    uint tile = at.y / 8 * (width / 8) + at.x / 8;
    color = vec4(lit(tile * 64 + at.y % 8 * 8 + at.x % 8) ? 1.0 : 0.0);
}
