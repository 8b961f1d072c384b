#version 450
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(binding = 0) uniform sampler2D leaves;
void main() {
    vec4 c = texture(leaves, uv * 2.0);
    if (c.a < 0.75) discard;
    color = vec4(c.rgb * vec3(0.4, 1.0, 0.3), 1.0);
}
