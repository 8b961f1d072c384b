#version 450
#extension GL_EXT_fragment_shader_barycentric : require
// Stores the numbers that a primitive has from its vertices, plus one, in three words from place on:
// three times gl_PrimitiveID. Every fragment of the primitive stores the same.
layout(location = 0) pervertexEXT in uint numbers[3];
layout(set = 0, binding = 0) buffer Seen { uint seen[]; };
void main() {
    for (int vertex = 0; vertex < 3; ++vertex)
        seen[3 * gl_PrimitiveID + vertex] = numbers[vertex] + 1;
}
