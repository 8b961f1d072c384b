#version 450
layout(triangles, equal_spacing, cw) in;
layout(location = 0) in vec4 color[];
layout(location = 2) patch in vec3 shift;
layout(location = 0) out vec4 color_out;
void main() {
    vec4 p = vec4(0.0);
    color_out = vec4(0.0);
    for (int i = 0; i < gl_PatchVerticesIn; ++i) {
        p += gl_TessCoord[i] * gl_in[i].gl_Position;
        color_out += gl_TessCoord[i] * color[i];
    }
    p.xy += shift.xy * gl_TessCoord.x * gl_TessCoord.y * 4.0;
    gl_Position = p;
    color_out.z = shift.z + float(gl_PrimitiveID) / 32.0;
}
