#version 450
// Writes two outputs, in each of which all components differ.
layout(location = 0) out vec4 zero;
layout(location = 1) out vec4 one;
void main() {
    zero = vec4(0.2, 0.4, 0.6, 0.8);
    one = vec4(1.0, 0.6, 0.2, 0.0);
}
