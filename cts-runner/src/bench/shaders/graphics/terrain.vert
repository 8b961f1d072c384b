#version 450
// Corners of a grid of patches, in pixels.
layout(location = 0) in vec2 position;
layout(location = 0) out vec2 corner;
void main() { corner = position; }
