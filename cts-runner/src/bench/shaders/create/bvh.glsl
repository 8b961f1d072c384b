// A complete binary tree of boxes in heap order, 255 inner nodes, 256 triangles; traversal with a stack, near child first.
layout(std430, binding = 1) readonly buffer Nodes { vec4 nodes[]; };
layout(std430, binding = 2) readonly buffer Triangles { vec4 corners[]; };
vec2 slab(vec3 low, vec3 high, vec3 o, vec3 inv) {
    vec3 a = (low - o) * inv, b = (high - o) * inv, n = min(a, b), f = max(a, b);
    return vec2(max(max(n.x, n.y), n.z), min(min(f.x, f.y), f.z));
}
// Boxes grow with their size in the tree: the content is arbitrary, the work is not.
vec2 box_of(uint node, vec3 o, vec3 inv) {
    float size = exp2(-float(findMSB(node + 1u)) * 0.25);
    vec3 centre = nodes[node].xyz * 2.0 - 1.0;
    return slab(centre - size, centre + size, o, inv);
}
vec3 triangle(uint i, vec3 o, vec3 d) {
    vec3 a = corners[3u * i].xyz * 2.0 - 1.0, e1 = 1.5 * corners[3u * i + 1u].yzx - 0.75, e2 = 1.5 * corners[3u * i + 2u].wxz - 0.75;
    vec3 p = cross(d, e2), t = o - a, q = cross(t, e1);
    float det = dot(e1, p), inv = 1.0 / (abs(det) < 1e-6 ? 1e-6 : det);
    return vec3(dot(e2, q), dot(t, p), dot(d, q)) * inv;
}
void main() {
    uint id = gl_LocalInvocationIndex;
    vec2 uv = (vec2(id & 15u, id >> 4u) + 0.5) / 16.0;
    vec3 o = vec3(0.0, 0.0, -3.0), d = normalize(vec3(uv * 2.0 - 1.0, 2.2)), inv = 1.0 / d;
    uint stack[24];
    int top = 0;
    stack[top++] = 0u;
    float best = 100.0;
    vec2 at = vec2(0.0);
    uint visited = 0u;
    while (top > 0) {
        uint node = stack[--top];
        visited++;
        if (node >= 255u) {
            vec3 h = triangle(node - 255u, o, d);
            if (h.x > 0.0 && h.x < best && h.y > 0.0 && h.z > 0.0 && h.y + h.z < 1.0) {
                best = h.x;
                at = h.yz;
#ifdef ANY
                break;
#endif
            }
            continue;
        }
        vec2 l = box_of(2u * node + 1u, o, inv), r = box_of(2u * node + 2u, o, inv);
        bool go_l = l.y >= max(l.x, 0.0) && l.x < best, go_r = r.y >= max(r.x, 0.0) && r.x < best;
        uint near = l.x <= r.x ? 2u * node + 1u : 2u * node + 2u, far = l.x <= r.x ? 2u * node + 2u : 2u * node + 1u;
        if (go_l && go_r) {
            stack[top++] = far;
            stack[top++] = near;
        } else if (go_l) stack[top++] = 2u * node + 1u;
        else if (go_r) stack[top++] = 2u * node + 2u;
    }
#ifdef ANY
    pixels[id] = packUnorm4x8(vec4(best < 100.0 ? 0.8 : 0.1, 0.2, float(visited) / 64.0, 1.0));
#else
    pixels[id] = packUnorm4x8(vec4(best < 100.0 ? vec3(at, 1.0 / best) : vec3(0.0, 0.0, float(visited) / 128.0), 1.0));
#endif
}
