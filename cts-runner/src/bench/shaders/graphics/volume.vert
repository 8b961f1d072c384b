#version 450
// A mesh at the places of instances, 64 pixels from each other.
layout(location = 0) in vec3 position;
layout(location = 0) out vec3 place;
void main() { place = position * 24.0 + vec3(gl_InstanceIndex & 15, gl_InstanceIndex >> 4, 0.0) * 60.0 + 40.0; }
