#version 450
// Glow added, a vignette, tone mapping (Narkowicz's curve) and a display's gamma.
layout(set = 0, binding = 0) uniform sampler2D image;
layout(set = 0, binding = 1) uniform sampler2D glow;
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 result;
void main() {
    vec3 x = texelFetch(image, ivec2(gl_FragCoord.xy), 0).rgb + texture(glow, uv).rgb * 0.5;
    vec2 off = uv - 0.5;
    x *= 1.0 - dot(off, off);
    x = clamp(x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14), 0.0, 1.0);
    result = vec4(pow(x, vec3(1.0 / 2.2)), 1.0);
}
