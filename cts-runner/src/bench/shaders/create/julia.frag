#version 450
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(push_constant) uniform Push { vec2 c; };
void main() {
    vec2 z = uv * 3.0 - 1.5, k = vec2(-0.4, 0.35) + 0.2 * c;
    int i = 0;
    for (; i < 24 && dot(z, z) < 16.0; i++) z = vec2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + k;
    float smooth_count = float(i) - log2(max(log2(dot(z, z) + 1.0), 1e-3));
    color = vec4(0.5 + 0.4 * cos(0.2 * smooth_count + vec3(0.0, 0.6, 1.0)), 1.0);
}
