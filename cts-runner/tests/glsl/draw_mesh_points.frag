#version 460
//! output bytes 2
//! outliers 0.02
layout(location = 0) flat in vec4 color;
layout(location = 0) out vec4 result;
void main() { result = vec4(color.xyz, gl_PointCoord.x); }
