#version 450
// Moves particles; structure of arrays (array k begins at k n).
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer In { float before[]; };
layout(std430, binding = 1) writeonly buffer Out { float after[]; };
layout(push_constant) uniform Push { float dt; uint n; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    vec3 position = vec3(before[i], before[n + i], before[2u * n + i]);
    float mass = before[3u * n + i];
    vec3 velocity = vec3(before[4u * n + i], before[5u * n + i], before[6u * n + i]);
    float age = before[7u * n + i];
    velocity += -position * mass * dt;
    position += velocity * dt;
    age += dt;
    if (age > 1.0) age = 0.0;
    after[i] = position.x;
    after[n + i] = position.y;
    after[2u * n + i] = position.z;
    after[3u * n + i] = mass;
    after[4u * n + i] = velocity.x;
    after[5u * n + i] = velocity.y;
    after[6u * n + i] = velocity.z;
    after[7u * n + i] = age;
}
