#version 450
#extension GL_GOOGLE_include_directive : require
#include "noise.glsl"
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(binding = 0) uniform sampler2D depths;
layout(binding = 1) uniform Kernel { vec4 samples[32]; };
vec3 place(vec2 at) { return vec3(at * 2.0 - 1.0, 1.0) * (1.0 + texture(depths, at).r); }
void main() {
    vec3 p = place(uv), n = normalize(cross(place(uv + vec2(0.02, 0.0)) - p, place(uv + vec2(0.0, 0.02)) - p));
    float hidden = 0.0;
    for (int i = 0; i < 32; i++) {
        vec3 d = samples[i].xyz * 2.0 - 1.0;
        d *= sign(dot(d, n)) * 0.3 * samples[i].w;
        vec3 q = p + d;
        vec2 at = (q.xy / q.z) * 0.5 + 0.5;
        float z = 1.0 + texture(depths, at).r;
        hidden += smoothstep(-0.05, 0.05, q.z - z) * smoothstep(0.0, 1.0, 0.3 / (abs(p.z - z) + 1e-3));
    }
    color = vec4(vec3(1.0 - hidden / 32.0), 1.0);
}
