#version 450
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(binding = 0) uniform sampler2D image;
const float W[5] = float[5](0.2270270, 0.1945946, 0.1216216, 0.0540541, 0.0162162);
void main() {
    vec4 sum = texture(image, uv) * W[0];
    for (int i = 1; i < 5; i++) {
        vec2 step = vec2(float(i) / 64.0, 0.0);
        sum += (texture(image, uv + step) + texture(image, uv - step)) * W[i];
    }
    color = sum;
}
