#version 450
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(binding = 0) uniform sampler2D image;
layout(push_constant) uniform Push { float threshold; float knee; };
void main() {
    vec3 c = texture(image, uv).rgb;
    float bright = max(c.r, max(c.g, c.b)), soft = clamp(bright - threshold + knee, 0.0, 2.0 * knee);
    soft = soft * soft / (4.0 * knee + 1e-4);
    color = vec4(c * max(soft, bright - threshold) / max(bright, 1e-4), 1.0);
}
