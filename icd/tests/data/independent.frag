#version 450
layout(set = 1, binding = 0) readonly buffer First { uint first; };
layout(set = 3, binding = 2) uniform Second { uint second; } list[2];
layout(location = 0) flat in uvec3 numbers;
layout(location = 0) out vec4 color;
void main() {
    color = vec4(numbers.x + numbers.y, numbers.z, first + list[0].second, list[1].second) / 255.0;
}
