#version 450
// Blocks, matrices and arrays that are indexed dynamically; integers; a uniform.
layout(triangles) in;
layout(triangle_strip, max_vertices = 3) out;
layout(location = 0) in vec4 color[];
layout(location = 1) in vec4 other[][2];
layout(binding = 2) uniform Block { vec4 words[16]; };
layout(location = 0) out Made {
    mat2 turned;
    vec4 colors[3];
    flat ivec2 numbers;
} made;
void main() {
    for (int i = 0; i < 3; ++i) {
        int at = int(abs(color[i].x) * 3.0);
        for (int k = 0; k < 3; ++k)
            made.colors[k] = vec4(0.25);
        made.colors[at % 3] = other[(at + 1) % 3][at & 1] + words[at];
        made.colors[(at + 1) % 3] = color[i];
        made.turned = outerProduct(color[i].xy, color[i].zw);
        made.numbers = ivec2(gl_PrimitiveIDIn, -gl_PrimitiveIDIn);
        gl_Position = gl_in[i].gl_Position;
        EmitVertex();
    }
    EndPrimitive();
}
