#version 450
layout(location = 0) in vec2 position;
layout(location = 1) in vec4 color;
layout(location = 0) out vec4 varying_color;
void main() {
    gl_Position = vec4(position, 0.25, 1.0);
    varying_color = color;
}
