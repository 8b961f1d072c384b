#version 450
// Strips of lengths that differ from primitive to primitive, made in nested loops with exits, and more than the most are asked for.
layout(triangles) in;
layout(triangle_strip, max_vertices = 15) out;
layout(location = 0) in vec4 color[];
layout(location = 1) in vec4 other[][2];
layout(location = 0) flat out vec4 color_out;
void corner(vec2 at, vec4 shade) {
    color_out = shade;
    gl_Position = vec4(at, gl_in[0].gl_Position.zw);
    EmitVertex();
}
void main() {
    int strips = int(abs(color[0].x) * 4.0);
    if (strips == 0)
        return;
    for (int s = 0; s < strips; ++s) {
        int length = 2 + int(abs(other[s % 3][s & 1].y) * 4.0);
        for (int i = 0; i < length; ++i) {
            if (s * 6 + i >= 15)
                return;
            int which = (s + i) % 3;
            if (other[which][1].x > 0.9)
                break;
            vec2 center = gl_in[which].gl_Position.xy;
            corner(center + 0.1 * vec2(s, i), color[which] * other[which][i & 1]);
        }
        if (color[s % 3].y > 0.0)
            EndPrimitive();
    }
}
