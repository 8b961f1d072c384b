#version 450
// Names a per-sample input and does nothing with it: sample shading all the same.
layout(location = 0) out vec4 color;
void main() {
    gl_SampleID;
    color = vec4(1.0);
}
