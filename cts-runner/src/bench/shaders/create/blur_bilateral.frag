#version 450
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(binding = 0) uniform sampler2D image;
void main() {
    vec3 centre = texture(image, uv).rgb, sum = vec3(0.0);
    float total = 0.0;
    for (int y = -3; y <= 3; y++)
        for (int x = -3; x <= 3; x++) {
            vec3 c = texture(image, uv + vec2(x, y) / 32.0).rgb;
            vec3 d = c - centre;
            float w = exp(-float(x * x + y * y) / 8.0 - dot(d, d) * 20.0);
            sum += c * w;
            total += w;
        }
    color = vec4(sum / total, 1.0);
}
