#version 450
layout(local_size_x = 256) in;
layout(std430, binding = 0) writeonly buffer Out { uint pixels[256]; };
void main() {
    uint id = gl_LocalInvocationIndex;
    vec2 c = vec2(id & 15u, id >> 4u) / 16.0 * 2.5 - vec2(1.9, 1.2), z = vec2(0.0);
    uint i = 0u;
    while (i < 64u && dot(z, z) <= 4.0) {
        z = vec2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c;
        i++;
    }
    pixels[id] = packUnorm4x8(vec4(vec3(float(i) / 64.0), 1.0));
}
