// Surface models.
const float PI = 3.14159265;
struct Surface { vec3 albedo; float metal; float rough; vec3 normal; vec3 view; };
vec3 sphere_normal(vec2 uv) {
    vec2 p = uv * 2.0 - 1.0;
    return normalize(vec3(p, sqrt(max(1.0 - dot(p, p) * 0.45, 0.05))));
}
float ggx(float n_h, float a) {
    float a2 = a * a, d = n_h * n_h * (a2 - 1.0) + 1.0;
    return a2 / (PI * d * d);
}
float smith(float n_v, float n_l, float a) {
    float k = (a + 1.0) * (a + 1.0) / 8.0;
    return n_v / (n_v * (1.0 - k) + k) * n_l / (n_l * (1.0 - k) + k);
}
vec3 schlick(float v_h, vec3 f0) { return f0 + (1.0 - f0) * pow(1.0 - v_h, 5.0); }
vec3 lit(Surface s, vec3 to_light, vec3 radiance) {
    vec3 h = normalize(to_light + s.view);
    float n_l = max(dot(s.normal, to_light), 0.0), n_v = max(dot(s.normal, s.view), 1e-3);
    vec3 f0 = mix(vec3(0.04), s.albedo, s.metal), f = schlick(max(dot(s.view, h), 0.0), f0);
    vec3 specular = f * ggx(max(dot(s.normal, h), 0.0), s.rough * s.rough) * smith(n_v, n_l, s.rough) / (4.0 * n_v * n_l + 1e-3);
    vec3 diffuse = (1.0 - f) * (1.0 - s.metal) * s.albedo / PI;
    return (diffuse + specular) * radiance * n_l;
}
vec3 aces(vec3 x) { return clamp(x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14), 0.0, 1.0); }
vec3 to_srgb(vec3 c) { return mix(12.92 * c, 1.055 * pow(max(c, 1e-4), vec3(1.0 / 2.4)) - 0.055, step(0.0031308, c)); }
