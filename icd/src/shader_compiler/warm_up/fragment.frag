#version 450
// What most stages have.
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(set = 0, binding = 0) uniform Parameters { vec4 scale; uint count; };
void main() {
    vec4 sum = vec4(uv, 0.0, 1.0);
    for (uint k = 0u; k < count; k++) sum = sum * scale + uv.xyxy;
    if (sum.x < 0.5) sum = sqrt(sum);
    color = sum;
}
