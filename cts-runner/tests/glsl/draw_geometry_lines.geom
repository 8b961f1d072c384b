#version 450
// A triangle's edges as two strips of lines.
layout(triangles) in;
layout(line_strip, max_vertices = 5) out;
layout(location = 0) in vec4 color[];
layout(location = 0) flat out vec4 color_out;
void corner(int i) {
    color_out = color[i];
    gl_Position = vec4(gl_in[i].gl_Position.xyz, 1.0);
    EmitVertex();
}
void main() {
    corner(0);
    corner(1);
    corner(2);
    EndPrimitive();
    EndPrimitive();
    corner(2);
    corner(0);
}
