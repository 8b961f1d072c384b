#version 450
layout(location = 0) in vec2 corner;
layout(location = 1) in vec3 tint;
layout(location = 0) out vec4 color;
void main() {
    float d = max(1.0 - dot(corner, corner), 0.0);
    color = vec4(tint * (d * d), 0.0);
}
