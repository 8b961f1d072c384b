#version 450
//! input float -1 1
//! output bytes 2
//! outliers 0.02
layout(location = 0) in Made {
    mat2 turned;
    vec4 colors[3];
    flat ivec2 numbers;
} made;
layout(location = 0) out vec4 result;
void main() {
    vec4 sum = made.colors[0] + made.colors[1] * 0.5 + made.colors[2] * 0.25;
    vec2 turned = made.turned * vec2(0.5, 0.25);
    result = vec4(abs(sum.xy), abs(turned.x) + float(made.numbers.x) / 64.0, abs(sum.w) - float(made.numbers.y) / 64.0);
}
