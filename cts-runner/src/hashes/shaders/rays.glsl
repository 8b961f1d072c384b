// What the ray-traced scenes share: the camera, and the choice of the candidates that are hits.
layout(binding = 0) uniform accelerationStructureEXT scene;

const float SIZE = 64.0;

uint mixed(uint n) {
    n = (n ^ 61u) ^ (n >> 16u);
    n *= 9u;
    n = n ^ (n >> 4u);
    n *= 0x27d4eb2du;
    return n ^ (n >> 15u);
}

// The ray through a pixel, whose direction is not normalized.
void camera(uvec2 pixel, out vec3 origin, out vec3 direction) {
    vec2 plane = (vec2(pixel) + 0.5) * (2.0 / SIZE) - 1.0;
    origin = vec3(0.25, 6.0, 7.5);
    direction = vec3(0.75 * plane.x, -0.75 * plane.y - 0.7, -1.0);
}

// Whether a candidate is a hit. Every fourth primitive has holes.
bool solid(uint primitive, vec2 corner) {
    return (mixed(primitive) & 3u) != 0u || fract((corner.x + corner.y) * 4.0) < 0.5;
}

// The distance to a ball in a box of the given object space, or -1.
float ball(vec3 origin, vec3 direction, uint primitive) {
    vec3 center = vec3(float(primitive & 3u), float(primitive >> 2u & 3u), float(primitive >> 4u & 3u)) - 1.5;
    vec3 from = origin - center;
    float a = dot(direction, direction), b = dot(from, direction), c = dot(from, from) - 0.09;
    float d = b * b - a * c;
    return d < 0.0 ? -1.0 : (-b - sqrt(d)) / a;
}
