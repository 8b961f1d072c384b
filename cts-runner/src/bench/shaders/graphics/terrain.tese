#version 450
// Height and slope of two waves; seen from above.
layout(quads, equal_spacing, ccw) in;
layout(location = 0) in vec2 corner[];
layout(location = 0) out vec4 color;
void main() {
    vec2 p = mix(corner[0], corner[3], gl_TessCoord.xy);
    vec2 a = p * 0.03, b = p.yx * vec2(0.017, -0.011);
    float s = sin(a.x + a.y), t = sin(b.x + b.y);
    vec2 slope = cos(a.x + a.y) * vec2(0.5) + cos(b.x + b.y) * vec2(-0.25, 0.4);
    vec3 normal = normalize(vec3(-slope, 1.0));
    float height = 0.5 + 0.25 * s + 0.25 * t;
    gl_Position = vec4(p * (1.0 / 512.0) - 1.0, 0.75 - 0.5 * height, 1.0);
    color = vec4(height, normal * 0.5 + 0.5);
}
