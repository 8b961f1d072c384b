#version 450
//! input float -1 1
//! output bytes 2
//! outliers 0.02
layout(location = 0) in vec4 color;
layout(location = 1) flat in vec4 flat_color;
layout(location = 2) noperspective in vec2 screen;
layout(location = 0) out vec4 result;
void main() { result = abs(vec4(color.xy * flat_color.xy, screen)); }
