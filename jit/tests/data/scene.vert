#version 450
layout(location = 0) in vec3 pos;
layout(location = 1) in mat2 uvm;
layout(location = 3) in uvec2 ids;
layout(location = 4) in vec4 weights[2];
layout(location = 0) out vec4 color;
layout(location = 1, component = 1) out vec2 uv;
layout(location = 2) flat out int id;
layout(location = 3) out Block { mat2 m; layout(location = 6) vec3 n; } blk;
out gl_PerVertex { vec4 gl_Position; float gl_PointSize; float gl_ClipDistance[2]; };
layout(set = 1, binding = 0) uniform U { mat4 mvp; vec4 tint[4]; } u;
void main() {
    gl_Position = u.mvp * vec4(pos, 1.0);
    gl_ClipDistance[0] = pos.x;
    gl_ClipDistance[1] = pos.y + 1.0;
    color = u.tint[gl_InstanceIndex & 3] + weights[gl_VertexIndex & 1];
    uv = uvm * pos.xy;
    id = int(ids.x) + gl_VertexIndex;
    blk.m = uvm;
    blk.n = vec3(gl_InstanceIndex);
}
