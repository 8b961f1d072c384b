#version 450
//! input float -1 1
//! output bytes 2
//! outliers 0.1
layout(location = 0) flat in vec4 color;
layout(location = 0) out vec4 result;
void main() { result = abs(color); }
