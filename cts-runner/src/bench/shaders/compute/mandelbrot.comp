#version 450
// Iterations until escape, at most 256.
layout(local_size_x = 8, local_size_y = 8) in;
layout(std430, binding = 0) writeonly buffer Out { uint counts[]; };
layout(push_constant) uniform Push { uint width; uint height; };
void main() {
    uvec2 at = gl_GlobalInvocationID.xy;
    vec2 c = vec2(at) / vec2(width, height) * vec2(3.0, 2.0) - vec2(2.25, 1.0);
    vec2 z = vec2(0.0);
    uint i = 0u;
    while (i < 256u && dot(z, z) <= 4.0) {
        z = vec2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c;
        i++;
    }
    counts[at.y * width + at.x] = i;
}
