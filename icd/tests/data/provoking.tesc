#version 450
layout(vertices = 1) out;
void main() {
    gl_TessLevelOuter = float[](3.0, 3.0, 3.0, 3.0);
    gl_TessLevelInner = float[](2.0, 2.0);
}
