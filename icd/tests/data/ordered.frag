#version 450
#extension GL_ARB_fragment_shader_interlock : require
layout(pixel_interlock_ordered) in;
layout(set = 0, binding = 0) coherent buffer Pixels { uint pixels[64]; };
layout(location = 0) flat in uint number;
layout(location = 0) out vec4 color;
void main() {
    uint at = uint(gl_FragCoord.x) % 8u + uint(gl_FragCoord.y) % 8u * 8u;
    beginInvocationInterlockARB();
    pixels[at] = pixels[at] * 5u + number + 1u;
    endInvocationInterlockARB();
    color = vec4(1.0);
}
