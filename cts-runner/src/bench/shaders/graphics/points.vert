#version 450
// xy: middle in pixels, z: size.
layout(location = 0) in vec3 sprite;
void main() {
    gl_Position = vec4(sprite.xy * (1.0 / 512.0) - 1.0, 0.0, 1.0);
    gl_PointSize = sprite.z;
}
