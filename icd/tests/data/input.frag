#version 450
layout(input_attachment_index = 0, set = 0, binding = 0) uniform subpassInput previous;
layout(location = 0) in vec4 varying_color;
layout(location = 0) out vec4 color;
void main() { color = subpassLoad(previous).grba; }
