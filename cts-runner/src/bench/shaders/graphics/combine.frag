#version 450
layout(set = 0, binding = 0) uniform sampler2D image;
layout(set = 0, binding = 1) uniform sampler2D half_size;
layout(set = 0, binding = 2) uniform sampler2D quarter;
layout(set = 0, binding = 3) uniform sampler2D eighth;
layout(set = 0, binding = 4) uniform sampler2D sixteenth;
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 result;
void main() {
    vec4 glow = texture(half_size, uv) + texture(quarter, uv) + texture(eighth, uv) + texture(sixteenth, uv);
    result = texture(image, uv) * 0.5 + glow * 0.25;
}
