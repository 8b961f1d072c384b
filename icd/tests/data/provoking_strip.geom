#version 450
// Makes two strips of OUTPUT of a point, with five numbered vertices and with four.
layout(points) in;
layout(OUTPUT, max_vertices = 9) out;
layout(location = 0) flat in uint number[];
layout(location = 0, xfb_buffer = 0, xfb_offset = 0, xfb_stride = 4) flat out uint made;
void main() {
    for (int i = 0; i < 9; i++) {
        if (i == 5) {
            EndPrimitive();
        }
        float angle = 2.4 * i;
        made = 10 * number[0] + i;
        gl_Position = vec4(cos(angle), sin(angle), 0.5, 1.0);
        gl_PrimitiveID = int(made);
        EmitVertex();
    }
}
