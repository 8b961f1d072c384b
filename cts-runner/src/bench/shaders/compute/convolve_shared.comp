#version 450
// 5x5 convolution of floats in a buffer, a 20x20 tile in shared memory per 16x16 workgroup, edges clamped.
layout(local_size_x = 16, local_size_y = 16) in;
layout(std430, binding = 0) readonly buffer In { float x[]; };
layout(std430, binding = 1) writeonly buffer Out { float y[]; };
layout(std430, binding = 2) readonly buffer Weights { float weights[25]; };
layout(push_constant) uniform Push { int width; int height; };
shared float tile[20][20];
void main() {
    ivec2 corner = ivec2(gl_WorkGroupID.xy) * 16 - 2, own = ivec2(gl_LocalInvocationID.xy);
    for (uint i = gl_LocalInvocationIndex; i < 400u; i += 256u) {
        ivec2 in_tile = ivec2(i % 20u, i / 20u);
        ivec2 at = clamp(corner + in_tile, ivec2(0), ivec2(width, height) - 1);
        tile[in_tile.y][in_tile.x] = x[at.y * width + at.x];
    }
    barrier();
    float sum = 0.0;
    for (int dy = 0; dy < 5; dy++)
        for (int dx = 0; dx < 5; dx++) sum += weights[dy * 5 + dx] * tile[own.y + dy][own.x + dx];
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    y[at.y * width + at.x] = sum;
}
