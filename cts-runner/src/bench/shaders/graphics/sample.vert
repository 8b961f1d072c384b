#version 450
// A triangle over the whole target; texture coordinates are an affine function of the pixel.
layout(push_constant) uniform Push { vec4 matrix; vec2 offset; float size; };
layout(location = 0) out vec2 uv;
void main() {
    vec2 p = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1) * 2.0;
    gl_Position = vec4(p * 2.0 - 1.0, 0.0, 1.0);
    vec2 pixel = p * size;
    uv = vec2(dot(matrix.xy, pixel), dot(matrix.zw, pixel)) + offset;
}
