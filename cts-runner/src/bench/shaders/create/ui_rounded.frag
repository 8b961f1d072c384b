#version 450
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(push_constant) uniform Push { vec4 fill; vec4 border; vec4 corner; };
void main() {
    vec2 p = uv * 16.0 - 8.0;
    float radius = p.x > 0.0 ? (p.y > 0.0 ? 2.0 : 4.0) : (p.y > 0.0 ? 1.0 : 3.0) + corner.x;
    vec2 q = abs(p) - 7.0 + radius;
    float d = min(max(q.x, q.y), 0.0) + length(max(q, 0.0)) - radius;
    float inside = clamp(0.5 - d, 0.0, 1.0), line = clamp(0.5 - abs(d + 1.0) + 0.5, 0.0, 1.0);
    color = mix(fill, border, line) * inside;
}
