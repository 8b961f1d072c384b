#version 450
// Accelerations of all bodies by all bodies, 256 at a time in shared memory.
layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Bodies { vec4 bodies[]; };
layout(std430, binding = 1) writeonly buffer Out { vec4 accelerations[]; };
layout(push_constant) uniform Push { uint n; };
shared vec4 tile[256];
void main() {
    uint lane = gl_LocalInvocationID.x;
    vec3 own = bodies[gl_GlobalInvocationID.x].xyz, sum = vec3(0.0);
    for (uint t = 0u; t < n; t += 256u) {
        tile[lane] = bodies[t + lane];
        barrier();
        for (uint i = 0u; i < 256u; i++) {
            vec3 d = tile[i].xyz - own;
            float r2 = dot(d, d) + 1e-3;
            float inv = inversesqrt(r2);
            sum += d * (tile[i].w * inv * inv * inv);
        }
        barrier();
    }
    accelerations[gl_GlobalInvocationID.x] = vec4(sum, 0.0);
}
