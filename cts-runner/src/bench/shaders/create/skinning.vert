#version 450
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec4 weights;
layout(location = 3) in vec4 joints;
layout(binding = 0) uniform Palette { mat4 bones[64]; };
layout(location = 0) out vec4 shade;
void place();
void main() {
    vec4 w = weights / dot(weights, vec4(1.0));
    ivec4 j = ivec4(joints * 63.0);
    mat4 m = bones[j.x] * w.x + bones[j.y] * w.y + bones[j.z] * w.z + bones[j.w] * w.w;
    shade = vec4((m * vec4(position, 1.0)).xyz * 0.3, 0.5 + 0.5 * normalize(mat3(m) * normal + 1e-3).z);
    place();
}
// Every vertex is a point on a pixel of its own; what the shader computed becomes its colour.
void place() {
    gl_Position = vec4((vec2(gl_VertexIndex & 15, gl_VertexIndex >> 4) + 0.5) / 8.0 - 1.0, 0.0, 1.0);
    gl_PointSize = 1.0;
}
