#version 460
//! api 1.2
#extension GL_EXT_ray_tracing : require
#extension GL_GOOGLE_include_directive : require
// The walls of the studio, which only reflections show: panels of light in rows.
layout(location = 0) rayPayloadInEXT vec3 color;

void main() {
    vec3 direction = gl_WorldRayDirectionEXT;
    vec3 far = abs(direction);
    vec2 wall = direction.xy / far.z;
    if (far.x > max(far.y, far.z)) wall = direction.yz / far.x;
    else if (far.y > far.z) wall = direction.xz / far.y;
    vec2 panel = smoothstep(vec2(0.2), vec2(0.6), abs(fract(wall * 1.5) - 0.5) * 2.0);
    color = mix(vec3(0.9, 0.85, 0.7), vec3(0.1, 0.12, 0.2), panel.x * panel.y);
}
