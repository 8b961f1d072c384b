#version 450
// What each vertex makes is read by others behind barriers.
layout(vertices = 4) out;
layout(location = 0) in vec4 color[];
layout(location = 0) out vec4 color_out[];
layout(location = 1) patch out float middle[2];
void main() {
    int i = gl_InvocationID;
    color_out[gl_InvocationID] = color[i];
    gl_out[gl_InvocationID].gl_Position = gl_in[i].gl_Position;
    barrier();
    vec4 next = color_out[(i + 1) % 4];
    vec4 p = gl_out[3 - i].gl_Position;
    barrier();
    color_out[gl_InvocationID] = 0.5 * (color[i] + next);
    gl_TessLevelOuter[i] = 1.0 + 5.0 * abs(p.x);
    if (i < 2) {
        gl_TessLevelInner[i] = 2.0 + 7.0 * abs(next.y);
        middle[i] = p.y;
    }
}
