#version 450
// Moves particles; array of structures.
layout(local_size_x = 64) in;
struct Particle { vec3 position; float mass; vec3 velocity; float age; };
layout(std430, binding = 0) readonly buffer In { Particle before[]; };
layout(std430, binding = 1) writeonly buffer Out { Particle after[]; };
layout(push_constant) uniform Push { float dt; uint n; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    Particle p = before[i];
    vec3 force = -p.position * p.mass;
    p.velocity += force * dt;
    p.position += p.velocity * dt;
    p.age += dt;
    if (p.age > 1.0) p.age = 0.0;
    after[i] = p;
}
