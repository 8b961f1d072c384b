#version 450
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(binding = 0) uniform sampler2D image;
float luma(vec3 c) { return dot(c, vec3(0.299, 0.587, 0.114)); }
vec3 at(vec2 offset) { return texture(image, uv + offset / 64.0).rgb; }
void main() {
    float nw = luma(at(vec2(-1.0, -1.0))), ne = luma(at(vec2(1.0, -1.0))), sw = luma(at(vec2(-1.0, 1.0))), se = luma(at(vec2(1.0, 1.0)));
    float m = luma(at(vec2(0.0)));
    float low = min(m, min(min(nw, ne), min(sw, se))), high = max(m, max(max(nw, ne), max(sw, se)));
    vec2 dir = vec2(-((nw + ne) - (sw + se)), (nw + sw) - (ne + se));
    float reduce = max((nw + ne + sw + se) * 0.03125, 0.0078125);
    dir = clamp(dir / (min(abs(dir.x), abs(dir.y)) + reduce), -8.0, 8.0);
    vec3 a = 0.5 * (at(dir * (1.0 / 3.0 - 0.5)) + at(dir * (2.0 / 3.0 - 0.5)));
    vec3 b = a * 0.5 + 0.25 * (at(dir * -0.5) + at(dir * 0.5));
    float l = luma(b);
    color = vec4(l < low || l > high ? a : b, 1.0);
}
