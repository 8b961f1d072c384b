#version 450
layout(quads, equal_spacing, ccw) in;
layout(location = 0) in vec4 color[];
layout(location = 7) patch in vec4 sum;
layout(location = 0) out vec4 color_out;
void main() {
    int i = int(gl_TessCoord.x * 17.9);
    vec2 p = gl_TessCoord.xy * 2.0 - 1.0;
    gl_Position = vec4(p * 0.9 + gl_in[i].gl_Position.yx * 0.1, gl_in[i].gl_Position.z, 1.0);
    color_out = color[i + 1] + sum * 0.0625;
}
