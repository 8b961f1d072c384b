#version 450
layout(push_constant) uniform Push { uint count; };
layout(location = 0) out vec4 color;
// Does work of a chosen length.
void main() {
    uint n = uint(gl_FragCoord.x);
    for (uint i = 0u; i < count; ++i) {
        n = n * 1664525u + 1013904223u + (n >> 7);
    }
    color = vec4(float(n & 255u) / 255.0, 0.0, 0.0, 1.0);
}
