#version 450
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256) in;
layout(std430, binding = 0) writeonly buffer Out { uint pixels[256]; };
#include "noise.glsl"
// Diffuse boxes: one path of four bounces per pixel from a counted generator, averaged over 4 samples.
layout(push_constant) uniform Push { vec4 seed; };
vec4 plane(vec3 o, vec3 d, vec3 n, float h) { float t = (h - dot(o, n)) / dot(d, n); return vec4(n, t > 1e-3 ? t : 1e9); }
void main() {
    uint id = gl_LocalInvocationIndex;
    vec3 total = vec3(0.0);
    for (uint k = 0u; k < 4u; k++) {
        vec3 o = vec3(0.0, 0.0, -0.9), d = normalize(vec3((vec2(id & 15u, id >> 4u) + 0.5) / 8.0 - 1.0, 1.2)), weight = vec3(1.0);
        for (uint bounce = 0u; bounce < 4u; bounce++) {
            vec4 hit = vec4(0.0, 0.0, 0.0, 1e9);
            for (int axis = 0; axis < 3; axis++)
                for (int side = -1; side <= 1; side += 2) {
                    vec3 n = vec3(0.0);
                    n[axis] = float(-side);
                    vec4 h = plane(o, d, n, -1.0);
                    if (h.w < hit.w) hit = h;
                }
            vec3 p = o + d * hit.w, albedo = 0.6 + 0.3 * abs(hit.xyz);
            if (hit.y < 0.0 && max(abs(p.x), abs(p.z)) < 0.5) {
                total += weight * 3.0;
                break;
            }
            total += weight * 0.1;
            weight *= albedo;
            vec2 r = unit2(pcg(id * 64u + k * 8u + bounce));
            float a = 6.2831853 * r.x, z = 2.0 * r.y - 1.0, s = sqrt(max(1.0 - z * z, 0.0));
            o = p + hit.xyz * 1e-3;
            d = normalize(hit.xyz + 0.98 * vec3(s * cos(a), s * sin(a), z));
        }
    }
    pixels[id] = packUnorm4x8(vec4(sqrt(clamp(total / 16.0, 0.0, 1.0)), 1.0));
}
