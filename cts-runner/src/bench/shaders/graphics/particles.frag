#version 450
// As points.frag.
layout(location = 0) in vec2 at;
layout(location = 0) out vec4 result;
void main() { result = vec4(1.0, dot(at, at) < 1.0, at.y < 0.0, 0.0) * (1.0 / 255.0); }
