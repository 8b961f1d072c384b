#version 450
layout(triangles, point_mode, equal_spacing) in;
layout(location = 0) in vec4 color[];
layout(location = 0) out vec4 color_out;
void main() {
    gl_Position = mat3x4(gl_in[0].gl_Position, gl_in[1].gl_Position, gl_in[2].gl_Position) * gl_TessCoord;
    color_out = vec4(gl_TessCoord.xy, color[0].zw);
}
