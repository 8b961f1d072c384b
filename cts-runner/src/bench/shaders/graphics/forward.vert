#version 450
// A patch of a grid, tilted: w is not the same everywhere on it.
layout(push_constant) uniform Push { vec2 middle, tilt; float size, depth; };
layout(location = 0) in vec2 position;
layout(location = 0) out vec2 uv;
layout(location = 1) out vec3 place;
void main() {
    vec2 c = position - 0.5;
    float w = 1.0 + dot(tilt, c);
    vec2 screen = middle * w + c * size;
    gl_Position = vec4(screen * (1.0 / 512.0) - w, depth * w, w);
    uv = position;
    place = vec3(middle * (1.0 / 1024.0) + c * 0.1, 0.0);
}
