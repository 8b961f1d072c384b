#version 450
layout(quads, equal_spacing, ccw) in;
layout(location = 0) in vec4 color[];
layout(location = 1) patch in float middle[2];
layout(location = 0) out vec4 color_out;
vec4 at(vec4 a, vec4 b, vec4 c, vec4 d) {
    return mix(mix(a, b, gl_TessCoord.x), mix(c, d, gl_TessCoord.x), gl_TessCoord.y);
}
void main() {
    gl_Position = at(gl_in[0].gl_Position, gl_in[1].gl_Position, gl_in[2].gl_Position, gl_in[3].gl_Position);
    color_out = at(color[0], color[1], color[2], color[3]);
    color_out.w = middle[int(gl_TessCoord.x > 0.5)] + gl_TessLevelOuter[2] * 0.125 + gl_TessLevelInner[1] * 0.0625;
}
