#version 450
// Layers over the whole target; the push constants give the depth of the first and the step to the next.
layout(push_constant) uniform Push { float first, next; };
layout(location = 0) flat out uint layer;
void main() {
    vec2 p = vec2(gl_VertexIndex & 1, gl_VertexIndex >> 1);
    gl_Position = vec4(p * 2.0 - 1.0, first + next * float(gl_InstanceIndex), 1.0);
    layer = uint(gl_InstanceIndex);
}
