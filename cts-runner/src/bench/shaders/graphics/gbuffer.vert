#version 450
// Layers of a grid over the whole target, the nearest one last.
layout(location = 0) in vec2 position;
layout(location = 0) out vec2 place;
layout(location = 1) flat out float layer;
void main() {
    gl_Position = vec4(position * 2.0 - 1.0, 0.75 - 0.25 * float(gl_InstanceIndex), 1.0);
    place = position;
    layer = float(gl_InstanceIndex);
}
