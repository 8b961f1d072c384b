#version 450
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(binding = 0) uniform sampler2D glyphs;
layout(push_constant) uniform Push { vec4 ink; vec4 outline; float width; };
float median(vec3 v) { return max(min(v.r, v.g), min(max(v.r, v.g), v.b)); }
void main() {
    float d = median(texture(glyphs, uv).rgb) - 0.5, inside = clamp(d * 8.0 + 0.5, 0.0, 1.0);
    float edge = clamp((d + 0.1 + 0.1 * width) * 8.0 + 0.5, 0.0, 1.0);
    color = mix(outline * edge, ink, inside);
}
