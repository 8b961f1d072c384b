#version 450
layout(set = 0, binding = 0) uniform Object { vec4 rectangle; vec4 color; };
layout(location = 0) out vec4 result;
void main() { result = color; }
