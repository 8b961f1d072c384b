// Hashes and noises; all hashes are of integers, so that every driver computes the same ones.
uint pcg(uint v) {
    uint state = v * 747796405u + 2891336453u;
    uint word = ((state >> ((state >> 28u) + 4u)) ^ state) * 277803737u;
    return (word >> 22u) ^ word;
}
uint hash(ivec2 p) { return pcg(uint(p.x) + pcg(uint(p.y))); }
uint hash(ivec3 p) { return pcg(uint(p.x) + pcg(uint(p.y) + pcg(uint(p.z)))); }
float unit(uint h) { return float(h >> 8u) / 16777216.0; }
vec2 unit2(uint h) { return vec2(float(h & 0xffffu), float(h >> 16u)) / 65535.0; }
vec2 fade(vec2 t) { return t * t * t * (t * (t * 6.0 - 15.0) + 10.0); }
vec3 fade(vec3 t) { return t * t * t * (t * (t * 6.0 - 15.0) + 10.0); }
float value_noise(vec2 p) {
    ivec2 i = ivec2(floor(p));
    vec2 t = fade(fract(p));
    float a = unit(hash(i)), b = unit(hash(i + ivec2(1, 0)));
    float c = unit(hash(i + ivec2(0, 1))), d = unit(hash(i + ivec2(1, 1)));
    return mix(mix(a, b, t.x), mix(c, d, t.x), t.y);
}
float value_noise(vec3 p) {
    ivec3 i = ivec3(floor(p));
    vec3 t = fade(fract(p));
    float corner[8];
    for (int k = 0; k < 8; k++) corner[k] = unit(hash(i + ivec3(k & 1, (k >> 1) & 1, k >> 2)));
    vec4 x = mix(vec4(corner[0], corner[2], corner[4], corner[6]), vec4(corner[1], corner[3], corner[5], corner[7]), t.x);
    vec2 y = mix(x.xz, x.yw, t.y);
    return mix(y.x, y.y, t.z);
}
vec2 gradient(ivec2 i) { return unit2(hash(i)) * 2.0 - 1.0; }
float perlin(vec2 p) {
    ivec2 i = ivec2(floor(p));
    vec2 f = fract(p), t = fade(f);
    float a = dot(gradient(i), f), b = dot(gradient(i + ivec2(1, 0)), f - vec2(1, 0));
    float c = dot(gradient(i + ivec2(0, 1)), f - vec2(0, 1)), d = dot(gradient(i + ivec2(1, 1)), f - vec2(1, 1));
    return mix(mix(a, b, t.x), mix(c, d, t.x), t.y);
}
float simplex(vec2 p) {
    const float F = 0.3660254, G = 0.2113249;
    ivec2 i = ivec2(floor(p + (p.x + p.y) * F));
    vec2 x0 = p - vec2(i) + float(i.x + i.y) * G;
    ivec2 o = x0.x > x0.y ? ivec2(1, 0) : ivec2(0, 1);
    vec2 x1 = x0 - vec2(o) + G, x2 = x0 - 1.0 + 2.0 * G;
    vec3 m = max(0.5 - vec3(dot(x0, x0), dot(x1, x1), dot(x2, x2)), 0.0);
    m *= m;
    m *= m;
    return 70.0 * dot(m, vec3(dot(gradient(i), x0), dot(gradient(i + o), x1), dot(gradient(i + 1), x2)));
}
float fbm(vec2 p, int octaves) {
    float sum = 0.0, size = 0.5;
    for (int i = 0; i < octaves; i++) {
        sum += size * perlin(p);
        p = mat2(1.6, 1.2, -1.2, 1.6) * p;
        size *= 0.5;
    }
    return sum;
}
float fbm(vec3 p, int octaves) {
    float sum = 0.0, size = 0.5;
    for (int i = 0; i < octaves; i++) {
        sum += size * value_noise(p);
        p = p * 2.03 + 1.7;
        size *= 0.5;
    }
    return sum;
}
vec2 worley(vec2 p) {
    ivec2 i = ivec2(floor(p));
    vec2 best = vec2(8.0);
    for (int y = -1; y <= 1; y++)
        for (int x = -1; x <= 1; x++) {
            vec2 d = vec2(i) + vec2(x, y) + unit2(hash(i + ivec2(x, y))) - p;
            float r = dot(d, d);
            best = r < best.x ? vec2(r, best.x) : vec2(best.x, min(best.y, r));
        }
    return sqrt(best);
}
