// What all shaders of the scene share: the frame's constants, and the light of the galaxy's core.
layout(std140, binding = 0) uniform Frame {
    mat4 view_projection;
    vec4 camera;        // xyz, time
    vec4 camera_right;  // xyz, tan(fov/2) * aspect
    vec4 camera_up;     // xyz, tan(fov/2)
    vec4 light;         // xyz of the core, strength
} frame;

layout(push_constant) uniform Push {
    vec4 tint;
    float scale;
    float variation;
    float shine;
    float spin;
} push;

const vec3 GALAXY = vec3(0.0, 5.0, 0.0);

// The simulation's plane is xz; the scene tilts it.
vec3 galaxy_to_world(vec3 p) {
    const float c = 0.9367, s = 0.3502;
    return GALAXY + vec3(p.x, p.y * c + p.z * s, p.z * c - p.y * s);
}

float hash(uint n) {
    n = (n ^ 61u) ^ (n >> 16u);
    n *= 9u;
    n = n ^ (n >> 4u);
    n *= 0x27d4eb2du;
    n = n ^ (n >> 15u);
    return float(n >> 8u) * (1.0 / 16777216.0);
}

float hash2(ivec2 p) { return hash(uint(p.x) * 1597u + uint(p.y) * 51749u + 17u); }

float noise(vec2 p) {
    ivec2 i = ivec2(floor(p));
    vec2 f = fract(p);
    f = f * f * (3.0 - 2.0 * f);
    return mix(mix(hash2(i), hash2(i + ivec2(1, 0)), f.x), mix(hash2(i + ivec2(0, 1)), hash2(i + ivec2(1, 1)), f.x), f.y);
}

vec3 haze(vec3 direction) {
    float up = clamp(direction.y * 1.6 + 0.12, 0.0, 1.0);
    return mix(vec3(0.105, 0.055, 0.085), vec3(0.006, 0.008, 0.024), sqrt(up));
}

vec3 tone(vec3 c) { return c * (1.0 + c * 0.08) / (1.0 + c); }
