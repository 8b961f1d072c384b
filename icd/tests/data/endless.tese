#version 450
// Never ends, unless a word is set.
layout(triangles, equal_spacing, ccw) in;
layout(set = 0, binding = 0) readonly buffer Stop { uint stop; };
void main() {
    uint n = 0;
    while (stop == 0u) {
        n = n * 3u + 1u;
    }
    gl_Position = gl_in[0].gl_Position + vec4(gl_TessCoord, float(n));
}
