#version 450
// A triangle in the six faces of a cube around the origin, where it is in sight.
layout(triangles, invocations = 6) in;
layout(triangle_strip, max_vertices = 3) out;
layout(location = 0) in vec3 place[];
void main() {
    int axis = gl_InvocationID >> 1;
    float sign = (gl_InvocationID & 1) == 0 ? 1.0 : -1.0;
    vec4 at[3];
    bvec4 beside = bvec4(true);
    bool behind = true;
    for (int i = 0; i < 3; i++) {
        vec3 p = place[i];
        // Two axes and the third one, along which is seen.
        vec3 q = axis == 0 ? p.yzx : axis == 1 ? p.zxy : p.xyz;
        float w = q.z * sign;
        // Near 0.5, far 16.
        at[i] = vec4(q.xy, (w - 0.5) * (16.0 / 15.5), w);
        beside = bvec4(ivec4(beside) & ivec4(q.x > w, q.x < -w, q.y > w, q.y < -w));
        behind = behind && w < 0.5;
    }
    if (behind || any(beside)) return;
    for (int i = 0; i < 3; i++) {
        gl_Position = at[i];
        gl_Layer = gl_InvocationID;
        EmitVertex();
    }
}
