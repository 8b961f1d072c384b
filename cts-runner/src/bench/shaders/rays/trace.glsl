// Rays of a pipeline: one for each pixel, in tiles of 8 by 8 pixels.
layout(binding = 0) uniform accelerationStructureEXT scene;
layout(std430, binding = 1) readonly buffer Rays { vec4 rays[]; };

uint ray_of(uvec2 at, uint width) {
    uint tile = at.y / 8 * (width / 8) + at.x / 8;
    return tile * 64 + at.y % 8 * 8 + at.x % 8;
}
