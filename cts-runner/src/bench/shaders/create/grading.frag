#version 450
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
// Lift, gamma, gain, saturation, hue rotation, and a look-up table as a strip.
layout(binding = 0) uniform sampler2D image;
layout(binding = 1) uniform sampler2D table;
layout(binding = 2) uniform Grade { vec4 lift; vec4 gamma; vec4 gain; vec4 mixing; };
vec3 to_hsv(vec3 c) {
    vec4 p = mix(vec4(c.bg, -1.0, 2.0 / 3.0), vec4(c.gb, 0.0, -1.0 / 3.0), step(c.b, c.g));
    vec4 q = mix(vec4(p.xyw, c.r), vec4(c.r, p.yzx), step(p.x, c.r));
    float d = q.x - min(q.w, q.y);
    return vec3(abs(q.z + (q.w - q.y) / (6.0 * d + 1e-6)), d / (q.x + 1e-6), q.x);
}
vec3 to_rgb(vec3 c) { return c.z * mix(vec3(1.0), clamp(abs(fract(c.xxx + vec3(1.0, 2.0 / 3.0, 1.0 / 3.0)) * 6.0 - 3.0) - 1.0, 0.0, 1.0), c.y); }
vec3 looked_up(vec3 c) {
    float slice = c.b * 15.0, low = floor(slice);
    vec2 at = (c.rg * 15.0 + 0.5) / vec2(256.0, 16.0);
    return mix(texture(table, at + vec2(low / 16.0, 0.0)).rgb, texture(table, at + vec2((low + 1.0) / 16.0, 0.0)).rgb, slice - low);
}
void main() {
    vec3 c = texture(image, uv).rgb;
    c = pow(max(c * (0.8 + 0.4 * gain.rgb) + 0.1 * lift.rgb, 1e-3), 0.7 + 0.6 * gamma.rgb);
    vec3 hsv = to_hsv(c);
    hsv.y = clamp(hsv.y * (0.5 + mixing.x), 0.0, 1.0);
    c = clamp(to_rgb(hsv), 0.0, 1.0);
    color = vec4(mix(c, looked_up(c), 0.3), 1.0);
}
