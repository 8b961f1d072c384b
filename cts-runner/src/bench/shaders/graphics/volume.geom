#version 450
// The volume of a closed mesh's shadow: lit triangles, the others at the end, and what lies between the two, where an edge has one of each.
layout(triangles_adjacency) in;
layout(triangle_strip, max_vertices = 15) out;
layout(location = 0) in vec3 place[];
const vec3 LIGHT = vec3(0.53, 0.71, -0.37);
bool lit(vec3 a, vec3 b, vec3 c) { return dot(cross(b - a, c - a), LIGHT) < 0.0; }
void emit(vec3 p, float along) {
    p += LIGHT * along;
    gl_Position = vec4(p.xy * (1.0 / 512.0) - 1.0, p.z * (1.0 / 256.0) + 0.5, 1.0);
    EmitVertex();
}
void side(vec3 a, vec3 b) {
    emit(a, 0.0);
    emit(a, 64.0);
    emit(b, 0.0);
    emit(b, 64.0);
    EndPrimitive();
}
void main() {
    bool is_lit = lit(place[0], place[2], place[4]);
    float along = is_lit ? 0.0 : 64.0;
    emit(place[0], along);
    emit(place[2], along);
    emit(place[4], along);
    EndPrimitive();
    if (is_lit) {
        if (!lit(place[0], place[1], place[2])) side(place[0], place[2]);
        if (!lit(place[2], place[3], place[4])) side(place[2], place[4]);
        if (!lit(place[4], place[5], place[0])) side(place[4], place[0]);
    }
}
