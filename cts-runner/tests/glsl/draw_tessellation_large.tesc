#version 450
// More vertices than lanes: what they make is read by others behind barriers.
layout(vertices = 19) out;
layout(location = 0) in vec4 color[];
layout(location = 0) out vec4 color_out[];
layout(location = 7) patch out vec4 sum;
void main() {
    int i = gl_InvocationID;
    vec4 own = color[i] + color[31 - i];
    color_out[gl_InvocationID] = own;
    barrier();
    vec4 other1 = color_out[(i + 1) % 19];
    barrier();
    if (i % 3 != 1) color_out[gl_InvocationID] = mix(own, other1, 0.5);
    barrier();
    vec4 other2 = color_out[(i + 2) % 19];
    barrier();
    if (i % 3 != 1) color_out[gl_InvocationID] = mix(own, other2, 0.5);
    barrier();
    vec4 other4 = color_out[(i + 4) % 19];
    barrier();
    if (i % 3 != 1) color_out[gl_InvocationID] = mix(own, other4, 0.5);
    barrier();
    vec4 other9 = color_out[(i + 9) % 19];
    barrier();
    if (i % 3 != 1) color_out[gl_InvocationID] = mix(own, other9, 0.5);
    gl_out[gl_InvocationID].gl_Position = gl_in[i].gl_Position;
    barrier();
    if (i == 18) {
        sum = vec4(0.0);
        for (int k = 0; k < 19; ++k) sum += color_out[k];
        gl_TessLevelInner[0] = gl_TessLevelInner[1] = 8.0 + sum.x;
    }
    if (i < 4) gl_TessLevelOuter[i] = 6.0 + 3.0 * color_out[i * 5].y;
}
