#version 450
//! input float -1 1
//! output bytes 2
//! outliers 0.02
layout(location = 0) in vec4 color;
layout(location = 1) flat in vec4 flat_color;
layout(location = 2) noperspective in vec2 screen;
layout(location = 0) out vec4 result;
void main() { float s = 0.0; for (int k = 0; k < int(abs(flat_color.x) * 12.0); ++k) { if (color.y * float(k) > 0.8) break; s += 0.07; } result = vec4(s, 1.0 - s, abs(color.z), 1.0); }
