#version 450
layout(set = 0, binding = 0) buffer Count { uint count; };
layout(location = 0) centroid in vec2 place;
layout(location = 0) out vec4 color;
// Counts invocations, and writes the place of the centroid in a square from -1 to 1.
void main() {
    if (!gl_HelperInvocation) {
        atomicAdd(count, 1u);
    }
    color = vec4(0.5 * place + 0.5, 0.0, 1.0);
}
