#version 450
// A step of a particle, which transform feedback captures.
layout(xfb_buffer = 0, xfb_stride = 32) out;
layout(location = 0) in vec4 position;
layout(location = 1) in vec4 velocity;
layout(location = 0, xfb_buffer = 0, xfb_offset = 0) out vec4 moved;
layout(location = 1, xfb_buffer = 0, xfb_offset = 16) out vec4 pulled;
void main() {
    moved = position + 0.5 * velocity;
    pulled = vec4(velocity.xyz - 0.25 * position.xyz, velocity.w);
    gl_Position = vec4(position.xyz, 1.0);
    gl_PointSize = 1.0;
}
