#version 450
// xy: middle in pixels, z: size.
layout(location = 0) in vec3 particle;
layout(location = 0) out vec3 sprite;
void main() { sprite = particle; }
