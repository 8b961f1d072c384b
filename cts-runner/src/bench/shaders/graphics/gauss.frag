#version 450
// A Gaussian of 13 taps along one axis by texelFetch.
layout(push_constant) uniform Push { ivec2 next; };
layout(set = 0, binding = 0) uniform sampler2D image;
layout(location = 0) out vec4 result;
const float weights[7] = float[](0.2255859375, 0.193359375, 0.120849609375, 0.0537109375, 0.01611328125, 0.0029296875, 0.000244140625);
void main() {
    ivec2 at = ivec2(gl_FragCoord.xy), last = textureSize(image, 0) - 1;
    vec4 sum = texelFetch(image, at, 0) * weights[0];
    for (int i = 1; i < 7; i++) {
        sum += texelFetch(image, min(at + next * i, last), 0) * weights[i];
        sum += texelFetch(image, max(at - next * i, ivec2(0)), 0) * weights[i];
    }
    result = sum;
}
