#version 450
// Counts front faces and back faces.
layout(location = 0) out vec4 result;
void main() { result = (gl_FrontFacing ? vec4(1.0, 0.0, 0.0, 0.0) : vec4(0.0, 1.0, 0.0, 0.0)) * (1.0 / 255.0); }
