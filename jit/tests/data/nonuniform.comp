#version 450
#extension GL_EXT_nonuniform_qualifier : enable
#extension GL_EXT_buffer_reference : enable
#extension GL_EXT_buffer_reference_uvec2 : enable
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) buffer Data { uint n; uint v[]; } data[4];
layout(set = 3, binding = 0) uniform texture2D tex[];
layout(set = 4, binding = 0) uniform sampler smp;
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Node { uvec2 next; vec3 value; mat3 m; };
layout(push_constant) uniform P { Node head; uint count; } pc;
void main() {
    uint i = gl_LocalInvocationIndex;
    uint d = data[nonuniformEXT(i & 3u)].v[i];
    vec4 t = textureLod(nonuniformEXT(sampler2D(tex[d], smp)), vec2(0.5), 0.0);
    Node n = pc.head;
    for (uint k = 0u; k < pc.count; ++k) {
        n.value += t.xyz;
        n.m[k % 3u] = n.value;
        n = Node(n.next);
    }
    data[1].v[i] = d + data[2].v.length() + uint(n.value.x);
}
