#version 450
// Samples the centre of every texel by a sampler with a Y'CbCr conversion.
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0) uniform sampler2D image;
layout(set = 0, binding = 1) buffer Texels { vec4 texels[]; };
void main() {
    uvec2 at = gl_GlobalInvocationID.xy;
    texels[at.y * 8 + at.x] = textureLod(image, (vec2(at) + 0.5) / 8.0, 0.0);
}
