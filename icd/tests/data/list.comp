#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
layout(local_size_x = 16) in;
layout(buffer_reference) buffer Node;
layout(buffer_reference, std430) buffer Node {
    Node next;
    uint value;
    Node others[2];
};
layout(set = 0, binding = 0) buffer Out { uint result[]; };
layout(push_constant) uniform Push { Node head; uint steps; };

// Follows the list from the head; invocations take different paths.
void main() {
    uint i = gl_LocalInvocationIndex;
    Node node = head;
    uint sum = 0u;
    for (uint k = 0u; k < steps + (i & 3u); ++k) {
        sum = sum * 31u + node.value;
        uvec2 address = uvec2(node);
        node = (i & 1u) == 0u ? node.next : node.others[k & 1u];
        if (uvec2(node) == address) {
            break;
        }
    }
    result[i] = sum;
}
