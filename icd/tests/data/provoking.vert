#version 450
// Makes distinct points of a circle, so that no line or triangle of them is degenerate. With
// CAPTURE, transform feedback captures their numbers.
#ifdef CAPTURE
layout(location = 0, xfb_buffer = 0, xfb_offset = 0, xfb_stride = 4) flat out uint number;
#else
layout(location = 0) flat out uint number;
#endif
void main() {
    float angle = 2.4 * gl_VertexIndex;
    number = gl_VertexIndex;
    gl_Position = vec4(cos(angle), sin(angle), 0.5, 1.0);
    gl_PointSize = 4.0;
}
