#version 450
// What all draw tests share: 96 random vertices.
layout(location = 0) in vec4 position;
layout(location = 1) in vec4 color;
layout(location = 0) out vec4 color_out;
layout(location = 1) out vec4 other_out[2];
void main() {
    color_out = color;
    other_out[0] = color.wzyx;
    other_out[1] = position.wxyz;
    gl_Position = vec4(position.xy, position.z * 0.5 + 0.5, 1.0);
    gl_PointSize = 3.0;
}
