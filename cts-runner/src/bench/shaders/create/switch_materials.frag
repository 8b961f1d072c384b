#version 450
#extension GL_GOOGLE_include_directive : require
#include "noise.glsl"
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
// A virtual machine of a shader: an instruction per cell, by switch.
layout(binding = 0) uniform Code { vec4 code[64]; };
void main() {
    vec4 r = vec4(uv, 0.5, 1.0);
    for (int i = 0; i < 24; i++) {
        vec4 word = code[i];
        switch (int(word.x * 12.0)) {
        case 0: r = r.yzxw; break;
        case 1: r.xyz = fract(r.xyz + word.yzw); break;
        case 2: r.xyz = abs(r.xyz * 2.0 - 1.0); break;
        case 3: r.xyz = mix(r.xyz, word.yzw, 0.3); break;
        case 4: r.xyz = sqrt(max(r.xyz, 0.0)); break;
        case 5: r.xyz *= 0.5 + 0.5 * word.y; break;
        case 6: r.x = value_noise(uv * 4.0 + word.yz); break;
        case 7: r.xyz = smoothstep(vec3(0.0), vec3(1.0), r.xyz); break;
        case 8: r.xyz = 1.0 - r.xyz; break;
        case 9: r.y = dot(r.xyz, vec3(0.3, 0.5, 0.2)); break;
        case 10: if (r.x > word.y) r.z = word.z; break;
        default: r.xyz = max(r.xyz, word.yzw * 0.5); break;
        }
    }
    color = vec4(r.xyz, 1.0);
}
