#version 450
#extension GL_GOOGLE_include_directive : require
#include "lights.glsl"
layout(std430, binding = 2) readonly buffer Lights { Light lights[]; };
layout(std430, binding = 3) readonly buffer Lists { uint lists[]; };
layout(location = 0) flat in vec4 color;
layout(location = 0) out vec4 result;
void main() {
    uvec2 tile = uvec2(gl_FragCoord.xy) / 16u;
    uint base = (tile.x + tile.y * TILES) * (LIST + 1u), count = lists[base];
    vec3 sum = vec3(0.1);
    for (uint i = 0u; i < count; i++) {
        Light light = lights[lists[base + 1u + i]];
        float reach = max(1.0 - distance(gl_FragCoord.xy, light.middle) / light.radius, 0.0);
        sum += unpackUnorm4x8(light.color).rgb * (reach * reach);
    }
    result = vec4(color.rgb * sum, 1.0);
}
