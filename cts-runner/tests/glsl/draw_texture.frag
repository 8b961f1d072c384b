#version 450
//! input float -1 1
//! output bytes 8
//! outliers 0.03
//! bind textures
layout(location = 0) in vec4 color;
layout(location = 1) flat in vec4 flat_color;
layout(location = 2) noperspective in vec2 screen;
layout(location = 0) out vec4 result;
layout(binding = 4) uniform sampler2D map2d;
void main() { result = texture(map2d, screen * 2.0); }
