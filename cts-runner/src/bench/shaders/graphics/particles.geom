#version 450
// A particle becomes a square.
layout(points) in;
layout(triangle_strip, max_vertices = 4) out;
layout(location = 0) in vec3 sprite[];
layout(location = 0) out vec2 at;
void main() {
    for (int i = 0; i < 4; i++) {
        vec2 corner = vec2(i & 1, i >> 1);
        at = corner * 2.0 - 1.0;
        gl_Position = vec4((sprite[0].xy + at * sprite[0].z * 0.5) * (1.0 / 512.0) - 1.0, 0.0, 1.0);
        EmitVertex();
    }
}
