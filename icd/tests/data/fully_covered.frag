#version 450
#extension GL_NV_conservative_raster_underestimation : require
// Is green in pixels that the primitive contains, and red in others that it covers.
layout(location = 0) out vec4 color;
void main() { color = gl_FragFullyCoveredNV ? vec4(0, 1, 0, 1) : vec4(1, 0, 0, 1); }
