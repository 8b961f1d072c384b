#version 450
// What all draw tests share: 32 random triangles.
layout(location = 0) in vec4 position;
layout(location = 1) in vec4 color;
layout(location = 0) out vec4 color_out;
layout(location = 1) flat out vec4 flat_out;
layout(location = 2) noperspective out vec2 screen_out;
void main() {
    color_out = color;
    flat_out = color.wzyx;
    screen_out = position.xy;
    gl_Position = vec4(position.xy, position.z * 0.5 + 0.5, 1.0);
}
