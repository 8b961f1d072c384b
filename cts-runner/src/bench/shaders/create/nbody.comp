#version 450
layout(local_size_x = 256) in;
layout(std430, binding = 0) writeonly buffer Out { uint pixels[256]; };
layout(std430, binding = 1) readonly buffer X { vec4 bodies[]; };
shared vec4 tile[256];
void main() {
    uint i = gl_LocalInvocationIndex;
    vec3 own = bodies[i].xyz, sum = vec3(0.0);
    for (uint t = 0u; t < 4u; t++) {
        tile[i] = bodies[t * 256u + i];
        barrier();
        for (uint k = 0u; k < 256u; k++) {
            vec3 d = tile[k].xyz - own;
            float r = inversesqrt(dot(d, d) + 0.05);
            sum += d * tile[k].w * r * r * r;
        }
        barrier();
    }
    pixels[i] = packUnorm4x8(vec4(0.5 + sum * 2e-4, 1.0));
}
