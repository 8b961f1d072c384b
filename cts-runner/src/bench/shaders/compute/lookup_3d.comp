#version 450
// Colours through a three-dimensional table, as colour grading looks them up.
layout(local_size_x = 64) in;
layout(binding = 0) uniform sampler3D table;
layout(std430, binding = 1) readonly buffer Source { uint source[]; };
layout(std430, binding = 2) writeonly buffer Target { uint target[]; };
layout(push_constant) uniform Size { float scale; };

void main() {
    uint at = gl_GlobalInvocationID.x;
    vec3 colour = unpackUnorm4x8(source[at]).rgb;
    // The first and the last colour lie at the centres of texels.
    target[at] = packUnorm4x8(textureLod(table, colour * scale + 0.5 * (1.0 - scale), 0.0));
}
