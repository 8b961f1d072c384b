#version 450
layout(isolines, fractional_even_spacing) in;
layout(location = 0) in vec4 ends[][2];
layout(location = 4) in vec4 color[];
layout(location = 0) out vec4 color_out;
void main() {
    gl_Position = mix(ends[0][0], ends[0][1], gl_TessCoord.x);
    gl_Position.y += gl_TessCoord.y * (1.0 + gl_TessCoord.x);
    color_out = vec4(color[0].xyz, gl_TessCoord.x);
}
