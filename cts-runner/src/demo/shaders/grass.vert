#version 450
// Where a blade stands, given on to the geometry stage.
layout(location = 0) in vec4 root; // xyz, 0..1
layout(location = 0) out vec4 root_out;
void main() { root_out = root; }
