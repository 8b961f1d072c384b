#version 450
// Shells over each point, back to front, the upper ones smaller.
layout(points) in;
layout(triangle_strip, max_vertices = 24) out;
layout(location = 0) in vec2 cell[];
layout(location = 0) out vec4 shade;
void main() {
    for (int shell = 0; shell < 6; shell++) {
        float size = 1.0 - float(shell) / 6.0, bend = 0.1 * float(shell * shell) / 6.0;
        for (int i = 0; i < 4; i++) {
            vec2 corner = (vec2(i & 1, i >> 1) - 0.5) * size + 0.5 + vec2(bend, 0.0) * 0.1;
            shade = vec4(vec3(0.3, 0.2, 0.1) + vec3(cell[0], 1.0) * float(shell) / 20.0, 1.0);
            gl_Position = vec4((cell[0] + corner) / 2.0 - 1.0, 0.0, 1.0);
            EmitVertex();
        }
        EndPrimitive();
    }
}
