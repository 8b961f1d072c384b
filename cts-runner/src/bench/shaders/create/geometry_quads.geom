#version 450
// A quad per point.
layout(points) in;
layout(triangle_strip, max_vertices = 4) out;
layout(location = 0) in vec2 cell[];
layout(location = 0) out vec4 shade;
void main() {
    for (int i = 0; i < 4; i++) {
        vec2 corner = vec2(i & 1, i >> 1);
        shade = vec4(cell[0] / 4.0, corner.x, 1.0);
        gl_Position = vec4((cell[0] + corner) / 2.0 - 1.0, 0.0, 1.0);
        EmitVertex();
    }
    EndPrimitive();
}
