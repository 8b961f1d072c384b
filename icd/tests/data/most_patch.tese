#version 450
layout(quads, equal_spacing, cw) in;
layout(location = 0) patch in uvec4 words[32];
layout(location = 0) flat out uint number_out;
void main() {
    vec4 low = mix(gl_in[0].gl_Position, gl_in[1].gl_Position, gl_TessCoord.x);
    vec4 high = mix(gl_in[2].gl_Position, gl_in[3].gl_Position, gl_TessCoord.x);
    gl_Position = mix(low, high, gl_TessCoord.y);
    number_out = 0;
    for (uint i = 0; i < 32; ++i)
        for (uint c = 0; c < 4; ++c) number_out = number_out * 31 + words[i][c];
}
