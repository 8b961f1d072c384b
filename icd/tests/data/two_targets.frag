#version 450
layout(location = 0) in vec4 varying_color;
layout(location = 0) out vec4 color;
layout(location = 1) out vec4 same;
void main() { color = varying_color; same = varying_color; }
