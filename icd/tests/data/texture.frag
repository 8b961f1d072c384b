#version 450
layout(set = 0, binding = 0) uniform sampler2D image;
layout(location = 0) in vec4 varying_color;
layout(location = 0) out vec4 color;
void main() { color = texture(image, gl_FragCoord.xy / 64.0); }
