#version 450
// Outputs of every kind that transform feedback captures, made of the vertex's and the instance's number.
layout(xfb_buffer = 0, xfb_stride = 52) out;
layout(xfb_buffer = 1, xfb_stride = 40) out;
layout(xfb_buffer = 2, xfb_stride = 12) out;
layout(xfb_buffer = 3, xfb_stride = 12) out;

layout(xfb_buffer = 0) out gl_PerVertex {
    layout(xfb_offset = 0) vec4 gl_Position;
    layout(xfb_offset = 16) float gl_PointSize;
};
layout(location = 0, xfb_buffer = 0, xfb_offset = 20) flat out uint number;
layout(location = 1, xfb_buffer = 0) out Data {
    layout(xfb_offset = 28) vec2 pairs[2];
    float unlisted;
    layout(xfb_offset = 44) ivec2 integers;
} data;
layout(location = 5, xfb_buffer = 1, xfb_offset = 8) flat out dvec2 wide;
layout(location = 6, xfb_buffer = 1, xfb_offset = 24) out mat2 matrix;
layout(location = 8, xfb_buffer = 2) out Piece {
    layout(xfb_offset = 4) vec2 of_piece;
} pieces[2];
layout(location = 10) out vec4 not_captured;

void main() {
    float v = float(gl_VertexIndex), i = float(gl_InstanceIndex);
    gl_Position = vec4(v, i, 0.5, 1.0);
    gl_PointSize = 1.0 + v;
    number = 1000u * uint(gl_InstanceIndex) + uint(gl_VertexIndex);
    data.pairs[0] = vec2(v, 0.25);
    data.pairs[1] = vec2(i, 0.75);
    data.unlisted = 7.0;
    data.integers = ivec2(-gl_VertexIndex, gl_InstanceIndex);
    wide = dvec2(double(gl_VertexIndex) / 3.0, double(i));
    matrix = mat2(v, 1.0, 2.0, i);
    pieces[0].of_piece = vec2(v + 100.0, i);
    pieces[1].of_piece = vec2(i, v + 200.0);
    not_captured = vec4(v);
}
