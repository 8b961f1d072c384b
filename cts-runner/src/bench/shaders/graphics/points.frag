#version 450
// Counts in units of 1/255: red all fragments, green those in the disc, blue those above its middle.
layout(location = 0) out vec4 result;
void main() {
    vec2 p = gl_PointCoord * 2.0 - 1.0;
    result = vec4(1.0, dot(p, p) < 1.0, p.y < 0.0, 0.0) * (1.0 / 255.0);
}
