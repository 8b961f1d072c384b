#version 450
layout(quads, equal_spacing, cw) in;
layout(location = 0) patch in uint number;
layout(location = 0) flat out uint number_out;
void main() {
    vec4 low = mix(gl_in[0].gl_Position, gl_in[1].gl_Position, gl_TessCoord.x);
    vec4 high = mix(gl_in[2].gl_Position, gl_in[3].gl_Position, gl_TessCoord.x);
    gl_Position = mix(low, high, gl_TessCoord.y);
    number_out = number;
}
