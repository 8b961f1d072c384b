#version 450
// Light from a picture: squares of its values, brightened.
layout(set = 0, binding = 0) uniform sampler2D image;
layout(location = 0) out vec4 result;
void main() {
    vec3 c = texelFetch(image, ivec2(gl_FragCoord.xy), 0).rgb;
    result = vec4(c * c * 3.0, 1.0);
}
