#version 450
// A height field: positions in pixels and depth; each instance moves its depth.
layout(location = 0) in vec3 position;
void main() {
    float depth = abs(fract(position.z + float(gl_InstanceIndex) * 0.3125) * 2.0 - 1.0);
    gl_Position = vec4(position.xy * (1.0 / 512.0) - 1.0, depth, 1.0);
}
