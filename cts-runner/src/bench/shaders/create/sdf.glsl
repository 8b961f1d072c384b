// Signed distances, and a march through what `map` says. Define SCENE before including.
float sphere(vec3 p, float r) { return length(p) - r; }
float box(vec3 p, vec3 b) {
    vec3 q = abs(p) - b;
    return length(max(q, 0.0)) + min(max(q.x, max(q.y, q.z)), 0.0);
}
float torus(vec3 p, vec2 t) { return length(vec2(length(p.xz) - t.x, p.y)) - t.y; }
float capsule(vec3 p, vec3 a, vec3 b, float r) {
    vec3 pa = p - a, ba = b - a;
    return length(pa - ba * clamp(dot(pa, ba) / dot(ba, ba), 0.0, 1.0)) - r;
}
float cylinder(vec3 p, vec2 h) {
    vec2 d = abs(vec2(length(p.xz), p.y)) - h;
    return min(max(d.x, d.y), 0.0) + length(max(d, 0.0));
}
float octahedron(vec3 p, float s) {
    p = abs(p);
    return (p.x + p.y + p.z - s) * 0.57735027;
}
float smooth_union(float a, float b, float k) {
    float h = clamp(0.5 + 0.5 * (b - a) / k, 0.0, 1.0);
    return mix(b, a, h) - k * h * (1.0 - h);
}
mat2 turned(float a) { return mat2(cos(a), -sin(a), sin(a), cos(a)); }
float map(vec3 p) {
    float d = p.y + 1.0;
#if SCENE >= 1
    d = min(d, sphere(p - vec3(-0.6, 0.0, 0.0), 0.7));
#endif
#if SCENE >= 2
    vec3 q = p - vec3(0.9, -0.2, 0.3);
    q.xz = turned(0.6) * q.xz;
    d = smooth_union(d, box(q, vec3(0.4)) - 0.1, 0.2);
    d = min(d, torus(p - vec3(0.1, 0.9, 0.0), vec2(0.5, 0.15)));
#endif
#if SCENE >= 3
    d = min(d, capsule(p, vec3(-1.5, -0.9, 1.0), vec3(-1.2, 0.8, 0.6), 0.2));
    d = smooth_union(d, cylinder(p - vec3(1.6, -0.3, -0.6), vec2(0.3, 0.7)), 0.15);
    d = max(d, -octahedron(p - vec3(-0.6, 0.3, -0.5), 0.5));
    vec3 r = vec3(mod(p.x + 0.25, 0.5) - 0.25, p.y + 0.9, mod(p.z + 0.25, 0.5) - 0.25);
    d = min(d, sphere(r, 0.1));
#endif
    return d;
}
vec3 normal_at(vec3 p) {
    const vec2 e = vec2(1.0, -1.0) * 2e-3;
    return normalize(e.xyy * map(p + e.xyy) + e.yyx * map(p + e.yyx) + e.yxy * map(p + e.yxy) + e.xxx * map(p + e.xxx));
}
float march(vec3 from, vec3 to, int steps) {
    float t = 0.0;
    for (int i = 0; i < steps; i++) {
        float d = map(from + to * t);
        if (d < 1e-3 || t > 12.0) break;
        t += d;
    }
    return t;
}
float shadow(vec3 from, vec3 to) {
    float least = 1.0, t = 0.05;
    for (int i = 0; i < 24; i++) {
        float d = map(from + to * t);
        least = min(least, 8.0 * d / t);
        t += clamp(d, 0.03, 0.3);
        if (least < 0.01 || t > 4.0) break;
    }
    return clamp(least, 0.0, 1.0);
}
float occlusion(vec3 p, vec3 n) {
    float sum = 0.0, scale = 1.0;
    for (int i = 1; i <= 5; i++) {
        float h = 0.08 * float(i);
        sum += (h - map(p + n * h)) * scale;
        scale *= 0.7;
    }
    return clamp(1.0 - 1.5 * sum, 0.0, 1.0);
}
