#version 450
// A square whose corner, size and colour are push constants. The variant changes the green of the colour.
layout(constant_id = 0) const uint VARIANT = 0u;
layout(push_constant) uniform Square {
    vec2 corner;
    float size;
    uint color;
};
layout(location = 0) flat out uint varied;

void main() {
    vec2 unit = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1);
    gl_Position = vec4((corner + size * unit) / 512.0 - 1.0, 0.0, 1.0);
    varied = color ^ VARIANT << 8;
}
