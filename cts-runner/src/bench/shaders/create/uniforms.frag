#version 450
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(binding = 0) uniform Params { vec4 tint; vec4 offset; mat4 matrix; } params;
void main() { color = vec4((params.matrix * vec4(uv, 0.0, 1.0)).xyz * 0.3, 1.0) * params.tint + params.offset * 0.2; }
