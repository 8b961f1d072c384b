#include "sdf.glsl"
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
void main() {
    vec3 from = vec3(0.0, 0.4, -3.5), to = normalize(vec3(uv * 2.0 - 1.0, 1.6));
    float t = march(from, to, 64);
    vec3 sky = mix(vec3(0.7, 0.8, 0.9), vec3(0.3, 0.5, 0.8), uv.y);
    if (t > 12.0) {
        color = vec4(sky, 1.0);
        return;
    }
    vec3 p = from + to * t, n = normal_at(p), sun = normalize(vec3(0.7, 0.9, -0.6));
    float light = max(dot(n, sun), 0.0);
#if SCENE >= 2
    light *= shadow(p + n * 0.01, sun);
#endif
    float open = 1.0;
#if SCENE >= 3
    open = occlusion(p, n);
    vec3 r = reflect(to, n);
    float again = march(p + n * 0.02, r, 24);
    sky = again > 12.0 ? sky : 0.5 * sky;
#endif
    color = vec4(mix(vec3(0.8, 0.6, 0.4) * (light + 0.2 * open), sky, 1.0 - exp(-0.02 * t * t)), 1.0);
}
