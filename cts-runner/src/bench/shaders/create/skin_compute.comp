#version 450
layout(local_size_x = 256) in;
layout(std430, binding = 0) writeonly buffer Out { uint pixels[256]; };
struct Vertex { vec4 place; vec4 normal; vec4 weights; vec4 joints; };
layout(std430, binding = 1) readonly buffer Vertices { Vertex vertices[]; };
layout(std430, binding = 2) readonly buffer Palette { mat4 bones[]; };
void main() {
    Vertex v = vertices[gl_LocalInvocationIndex];
    vec4 w = v.weights / dot(v.weights, vec4(1.0));
    uvec4 j = uvec4(v.joints * 31.0);
    mat4 m = bones[j.x] * w.x + bones[j.y] * w.y + bones[j.z] * w.z + bones[j.w] * w.w;
    vec3 p = (m * vec4(v.place.xyz, 1.0)).xyz, n = normalize(mat3(m) * v.normal.xyz + 1e-3);
    pixels[gl_LocalInvocationIndex] = packUnorm4x8(vec4(p * 0.3, 0.5 + 0.5 * n.z));
}
