#version 450
// A polar scaler: the weight of each texel that is near enough is looked up in a table by its distance.
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0) uniform sampler1D table;
layout(std430, binding = 1) readonly buffer Source { float source[]; };
layout(std430, binding = 2) writeonly buffer Target { float target[]; };
layout(push_constant) uniform Size { uint width; };

const float RADIUS = 3.2;

void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    // Half as many texels as pixels in each direction.
    vec2 place = (vec2(at) + 0.5) * 0.5 - 0.5;
    ivec2 first = ivec2(floor(place));
    int last = int(width) / 2 - 1;
    float sum = 0.0, weights = 0.0;
    for (int y = -3; y <= 4; ++y) {
        for (int x = -3; x <= 4; ++x) {
            float away = length(vec2(first + ivec2(x, y)) - place);
            if (away < RADIUS) {
                float weight = textureLod(table, away / RADIUS, 0.0).x;
                ivec2 texel = clamp(first + ivec2(x, y), ivec2(0), ivec2(last));
                sum += weight * source[texel.y * (last + 1) + texel.x];
                weights += weight;
            }
        }
    }
    target[at.y * int(width) + at.x] = sum / weights;
}
