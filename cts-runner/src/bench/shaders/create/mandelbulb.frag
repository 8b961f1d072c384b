#version 450
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
float estimate(vec3 p) {
    vec3 z = p;
    float dr = 1.0, r = 0.0;
    for (int i = 0; i < 5; i++) {
        r = length(z);
        if (r > 2.0) break;
        float theta = acos(clamp(z.z / r, -1.0, 1.0)) * 8.0, phi = atan(z.y, z.x) * 8.0, zr = pow(r, 8.0);
        dr = pow(r, 7.0) * 8.0 * dr + 1.0;
        z = zr * vec3(sin(theta) * cos(phi), sin(phi) * sin(theta), cos(theta)) + p;
    }
    return 0.5 * log(max(r, 1e-6)) * r / dr;
}
void main() {
    vec3 from = vec3(0.0, 0.0, -2.4), to = normalize(vec3(uv * 2.0 - 1.0, 1.8));
    float t = 0.0, near = 1.0;
    for (int i = 0; i < 32; i++) {
        float d = estimate(from + to * t);
        near = min(near, d);
        if (d < 0.01 || t > 4.0) break;
        t += d;
    }
    color = vec4(vec3(t > 4.0 ? 0.1 : 1.2 - t * 0.45, exp(-8.0 * near) * 0.6, uv.y * 0.5), 1.0);
}
