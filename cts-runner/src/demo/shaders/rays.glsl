// What the shaders of the ray-traced scene share: resources, payloads, light and noise.
#extension GL_EXT_ray_tracing : require

struct Object {
    vec4 color;   // rgb, share of the light that is reflected
    uint first;   // first index of the mesh
    uint pattern; // 0: plain, 1: tiles, 2: grass
    uint pad0;
    uint pad1;
};

layout(binding = 0) uniform accelerationStructureEXT scene;
layout(std430, binding = 1) buffer Light { vec4 sums[]; };
layout(std430, binding = 2) readonly buffer Vertices { float vertices[]; };
layout(std430, binding = 3) readonly buffer Indices { uint indices[]; };
layout(std430, binding = 4) readonly buffer Objects { Object objects[]; };
layout(std430, binding = 5) readonly buffer Balls { vec4 balls[]; };
layout(push_constant) uniform Push { uint frame; };

// A ray on its way: the light that it brings, the number of rays that it took, and its depth.
struct Path {
    vec3 light;
    uint rays;
    uint depth;
    uint seed;
};

const uint DEPTH = 3;
const vec3 SUN = vec3(0.48, 0.62, 0.62);
const vec3 SUNLIGHT = vec3(3.1, 2.75, 2.2);

uint mixed(uint n) {
    n = (n ^ 61u) ^ (n >> 16u);
    n *= 9u;
    n = n ^ (n >> 4u);
    n *= 0x27d4eb2du;
    return n ^ (n >> 15u);
}

float unit(uint n) { return float(mixed(n) >> 8u) * (1.0 / 16777216.0); }

vec3 sky(vec3 direction) {
    float up = clamp(direction.y, 0.0, 1.0);
    vec3 color = mix(vec3(0.85, 0.80, 0.74), vec3(0.16, 0.32, 0.72), sqrt(up));
    float cosine = max(dot(direction, normalize(SUN)), 0.0);
    float glow = cosine * cosine;
    glow *= glow;
    glow *= glow;
    glow *= glow;
    return color + SUNLIGHT * (0.3 * glow * glow * glow);
}
