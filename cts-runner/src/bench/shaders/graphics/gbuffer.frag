#version 450
layout(location = 0) in vec2 place;
layout(location = 1) flat in float layer;
layout(location = 0) out vec4 albedo;
layout(location = 1) out vec4 normal;
layout(location = 2) out vec4 material;
layout(location = 3) out float height;
vec2 wave(vec2 x) { return abs(fract(x) * 2.0 - 1.0); }
void main() {
    vec2 coarse = wave(place * 4.0), fine = wave(place * 16.0 + layer);
    albedo = vec4(coarse, fine.x, 1.0);
    normal = vec4(normalize(vec3(fine - 0.5, 1.0)), 0.0);
    material = vec4(fine.y, coarse.x * coarse.y, layer * 0.25, 1.0);
    height = 0.05 * coarse.x + 0.02 * fine.y;
}
