#version 450
// Alpha test.
layout(set = 0, binding = 0) uniform sampler2D leaf;
layout(location = 0) flat in vec4 color;
layout(location = 1) in vec2 uv;
layout(location = 0) out vec4 result;
void main() {
    vec4 texel = texture(leaf, uv);
    if (texel.a < 0.5) discard;
    result = texel * color;
}
