#version 450
// Dual quaternions.
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec4 weights;
layout(location = 3) in vec4 joints;
layout(binding = 0) uniform Palette { mat2x4 bones[128]; };
layout(location = 0) out vec4 shade;
void place();
vec3 turned(vec4 q, vec3 v) { return v + 2.0 * cross(q.xyz, cross(q.xyz, v) + q.w * v); }
void main() {
    ivec4 j = ivec4(joints * 127.0);
    mat2x4 first = bones[j.x], sum = first * weights.x;
    for (int i = 1; i < 4; i++) {
        mat2x4 b = bones[j[i]];
        sum += b * weights[i] * (dot(b[0], first[0]) < 0.0 ? -1.0 : 1.0);
    }
    sum /= length(sum[0]);
    vec4 r = sum[0], d = sum[1];
    vec3 p = turned(r, position) + 2.0 * (r.w * d.xyz - d.w * r.xyz + cross(r.xyz, d.xyz));
    shade = vec4(fract(p * 0.3 + 0.05), 0.5 + 0.5 * turned(r, normalize(normal + 0.01)).z);
    place();
}
// Every vertex is a point on a pixel of its own; what the shader computed becomes its colour.
void place() {
    gl_Position = vec4((vec2(gl_VertexIndex & 15, gl_VertexIndex >> 4) + 0.5) / 8.0 - 1.0, 0.0, 1.0);
    gl_PointSize = 1.0;
}
