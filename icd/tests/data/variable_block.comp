#version 450
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer Out { uint o[]; };
layout(set = 0, binding = 1) uniform Block { uvec4 v[64]; };
layout(push_constant) uniform Push { uint first; };
void main() {
    for (uint i = 0; i < 64; i++)
        o[i] = v[(first + i) % 64].x;
}
