#version 450
// One word from one invocation.
layout(local_size_x = 1) in;
layout(std430, binding = 0) writeonly buffer Out { uint word; };
layout(push_constant) uniform Push { uint value; };
void main() { word = value; }
