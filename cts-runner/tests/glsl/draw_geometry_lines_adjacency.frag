#version 450
//! topology line_strip_with_adjacency
//! input float -1 1
//! output bytes 2
//! outliers 0.02
layout(location = 0) in vec4 color;
layout(location = 0) out vec4 result;
void main() { result = abs(color); }
