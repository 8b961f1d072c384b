#version 450
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(binding = 0) uniform Frame { mat4 model; mat4 view; mat4 projection; };
layout(location = 0) out vec4 shade;
void place();
void main() {
    vec4 p = projection * view * model * vec4(position, 1.0);
    shade = vec4(0.2 * p.xyz / (1.0 + p.w) + 0.2 * (mat3(model) * normal), 1.0);
    place();
}
// Every vertex is a point on a pixel of its own; what the shader computed becomes its colour.
void place() {
    gl_Position = vec4((vec2(gl_VertexIndex & 15, gl_VertexIndex >> 4) + 0.5) / 8.0 - 1.0, 0.0, 1.0);
    gl_PointSize = 1.0;
}
