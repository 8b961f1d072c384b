#version 450
#extension GL_GOOGLE_include_directive : require
#include "light.glsl"
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
// Single scattering along 8 steps with 4 steps to the sun.
vec2 densities(float h) { return exp(-h / vec2(8.0, 1.2)); }
float leave(vec3 o, vec3 d, float r) { float b = dot(o, d), c = dot(o, o) - r * r; return -b + sqrt(max(b * b - c, 0.0)); }
void main() {
    vec3 o = vec3(0.0, 6371.0, 0.0), d = normalize(vec3(uv.x * 2.0 - 1.0, uv.y + 0.02, 1.0)), sun = normalize(vec3(0.2, 0.3, 1.0));
    vec3 rayleigh = vec3(5.8e-3, 13.5e-3, 33.1e-3), sum_r = vec3(0.0), sum_m = vec3(0.0);
    float mie = 21e-3, step = leave(o, d, 6471.0) / 8.0;
    vec2 depth = vec2(0.0);
    for (int i = 0; i < 8; i++) {
        vec3 p = o + d * step * (float(i) + 0.5);
        vec2 here = densities(length(p) - 6371.0) * step;
        depth += here;
        float sun_step = leave(p, sun, 6471.0) / 4.0;
        vec2 sun_depth = vec2(0.0);
        for (int j = 0; j < 4; j++) sun_depth += densities(length(p + sun * sun_step * (float(j) + 0.5)) - 6371.0) * sun_step;
        vec3 left = exp(-(rayleigh * (depth.x + sun_depth.x) + mie * 1.1 * (depth.y + sun_depth.y)));
        sum_r += left * here.x;
        sum_m += left * here.y;
    }
    float mu = dot(d, sun), g = 0.76;
    float phase_m = 3.0 / (8.0 * PI) * (1.0 - g * g) * (1.0 + mu * mu) / ((2.0 + g * g) * pow(1.0 + g * g - 2.0 * g * mu, 1.5));
    color = vec4(aces(20.0 * (sum_r * rayleigh * 3.0 / (16.0 * PI) * (1.0 + mu * mu) + sum_m * mie * phase_m)), 1.0);
}
