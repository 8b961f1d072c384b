#version 450
// A window, or with a margin its shadow. `local` is the distance from its middle in pixels.
layout(push_constant) uniform Push { vec4 rectangle; vec4 tint; float radius, margin; };
layout(location = 0) out vec2 local;
void main() {
    vec2 corner = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1), half_size = rectangle.zw * 0.5;
    local = (corner * 2.0 - 1.0) * (half_size + margin);
    gl_Position = vec4((rectangle.xy + half_size + local) * (1.0 / 512.0) - 1.0, 0.0, 1.0);
}
