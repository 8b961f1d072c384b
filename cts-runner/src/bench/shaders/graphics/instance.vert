#version 450
// A cube per instance, turned by a quaternion.
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec4 turn;
layout(location = 3) in vec2 middle;
layout(location = 4) in vec4 instance_color;
layout(location = 0) flat out vec4 color;
vec3 turned(vec3 v) { return v + 2.0 * cross(turn.xyz, cross(turn.xyz, v) + turn.w * v); }
void main() {
    vec3 p = turned(position);
    gl_Position = vec4((middle + p.xy) * (1.0 / 512.0) - 1.0, 0.5 + p.z * 0.01, 1.0);
    color = vec4(instance_color.rgb * (0.5 + 0.5 * abs(turned(normal).z)), 1.0);
}
