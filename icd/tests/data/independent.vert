#version 450
layout(set = 0, binding = 0) uniform First { uint first; };
layout(set = 0, binding = 1) uniform Second { uint second; };
layout(set = 2, binding = 3) readonly buffer Third { uint third; };
layout(location = 0) flat out uvec3 numbers;
void main() {
    gl_Position = vec4(4 * (gl_VertexIndex & 1) - 1, 2 * (gl_VertexIndex & 2) - 1, 0, 1);
    numbers = uvec3(first, second, third);
}
