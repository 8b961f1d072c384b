#version 450
layout(location = 0) in vec2 position;
layout(location = 0) out vec2 point;
void main() { point = position; }
