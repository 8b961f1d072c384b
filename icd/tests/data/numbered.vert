#version 450
layout(location = 0) flat out uint number;
void main() {
    number = gl_VertexIndex;
}
