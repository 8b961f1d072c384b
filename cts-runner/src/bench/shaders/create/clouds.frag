#version 450
#extension GL_GOOGLE_include_directive : require
#include "noise.glsl"
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
float density(vec3 p) { return clamp(fbm(p, 4) - 0.42 - 0.1 * abs(p.y), 0.0, 1.0); }
void main() {
    vec3 from = vec3(3.0, 0.0, -4.0), to = normalize(vec3(uv * 2.0 - 1.0, 1.5)), sun = normalize(vec3(0.6, 0.6, -0.5)), sum = vec3(0.0);
    float through = 1.0;
    for (int i = 0; i < 20; i++) {
        vec3 p = from + to * (1.0 + 0.3 * float(i));
        float d = density(p);
        if (d > 0.0) {
            float lit = exp(-3.0 * (density(p + sun * 0.3) + density(p + sun * 0.7)));
            float taken = 1.0 - exp(-d * 1.5);
            sum += through * taken * mix(vec3(0.3, 0.35, 0.45), vec3(1.0, 0.95, 0.85), lit);
            through *= 1.0 - taken;
        }
    }
    color = vec4(sum + through * mix(vec3(0.6, 0.7, 0.9), vec3(0.2, 0.4, 0.8), uv.y), 1.0);
}
