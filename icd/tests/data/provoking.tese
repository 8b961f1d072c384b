#version 450
// Gives the vertices of a patch distinct numbers; DOMAIN is its domain. With CAPTURE, transform
// feedback captures them.
layout(DOMAIN, equal_spacing, ccw) in;
#ifdef CAPTURE
layout(location = 0, xfb_buffer = 0, xfb_offset = 0, xfb_stride = 4) flat out uint number;
#else
layout(location = 0) flat out uint number;
#endif
void main() {
    number = 32 * uint(round(gl_TessCoord.x * 18.0)) + uint(round(gl_TessCoord.y * 18.0));
    gl_Position = vec4(gl_TessCoord.xy * 1.6 - 0.8, 0.5, 1.0);
}
