#version 450
// Four invocations of each triangle, three of which make something; the fragments see their primitive's number.
layout(triangles, invocations = 4) in;
layout(triangle_strip, max_vertices = 3) out;
layout(location = 0) in vec4 color[];
layout(location = 0) out vec4 color_out;
void main() {
    if (gl_InvocationID == 2)
        return;
    vec2 moved = vec2(gl_InvocationID & 1, gl_InvocationID >> 1) * 0.4;
    for (int i = 0; i < 3; ++i) {
        color_out = color[(i + gl_InvocationID) % 3];
        gl_Position = vec4(gl_in[i].gl_Position.xy * 0.5 + moved, gl_in[i].gl_Position.zw);
        gl_PrimitiveID = gl_PrimitiveIDIn * 4 + gl_InvocationID;
        EmitVertex();
    }
}
