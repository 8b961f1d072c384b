#version 450
// One step of the galaxy: 65536 bodies, symplectic Euler. Each body feels a fixed halo (analytic) and a sample of the
// other bodies: TILES tiles of 256 bodies that pass through shared memory, scaled up to the whole population. The sample
// moves on with every frame, so that over time each body feels all others.
layout(local_size_x = 256) in;
layout(constant_id = 0) const uint TILES = 2u;
layout(std430, binding = 0) readonly buffer PositionsIn { vec4 positions_in[]; };   // xyz, mass
layout(std430, binding = 1) writeonly buffer PositionsOut { vec4 positions_out[]; };
layout(std430, binding = 2) buffer Velocities { vec4 velocities[]; };                // xyz, temperature
layout(push_constant) uniform Push { float dt; uint first_tile; } push;

shared vec4 tile[256];

const float HALO = 9.0;
const float CORE2 = 0.6;
const float SOFTENING2 = 0.05;

void main() {
    uint body = gl_GlobalInvocationID.x;
    uint lane = gl_LocalInvocationID.x;
    uint groups = gl_NumWorkGroups.x;
    vec4 self = positions_in[body];
    vec4 velocity = velocities[body];

    vec3 pull = vec3(0.0);
    for (uint t = 0u; t < TILES; ++t) {
        uint group = (gl_WorkGroupID.x + push.first_tile + t * 97u) % groups;
        tile[lane] = positions_in[group * 256u + lane];
        barrier();
        for (uint i = 0u; i < 256u; ++i) {
            vec4 other = tile[i];
            vec3 d = other.xyz - self.xyz;
            float r = inversesqrt(dot(d, d) + SOFTENING2);
            pull += d * (other.w * r * r * r);
        }
        barrier();
    }
    pull *= float(groups) / float(TILES);

    float r2 = dot(self.xyz, self.xyz) + CORE2;
    vec3 acceleration = pull - self.xyz * (HALO / r2);
    velocity.xyz += acceleration * push.dt;
    positions_out[body] = vec4(self.xyz + velocity.xyz * push.dt, self.w);
    velocities[body] = velocity;
}
