#version 450
// A point becomes two quads, or one.
layout(points) in;
layout(triangle_strip, max_vertices = 8) out;
layout(location = 0) in vec4 color[1];
layout(location = 0) out vec4 color_out;
void main() {
    int quads = color[0].x < 0.0 ? 1 : 2;
    for (int quad = 0; quad < quads; ++quad) {
        for (int i = 0; i < 4; ++i) {
            vec2 corner = vec2(i & 1, i >> 1) * 0.2 - float(quad) * 0.3;
            color_out = color[0] + vec4(float(i) * 0.1);
            gl_Position = gl_in[0].gl_Position + vec4(corner, 0.0, 0.0);
            EmitVertex();
        }
        EndPrimitive();
    }
}
