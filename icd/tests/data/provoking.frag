#version 450
// Stores the number that each primitive has from its provoking vertex, plus one. With OF_NUMBER,
// the place is the number instead of gl_PrimitiveID.
layout(location = 0) flat in uint number;
layout(set = 0, binding = 0) buffer Seen { uint seen[]; };
void main() {
#ifdef OF_NUMBER
    seen[number] = number + 1;
#else
    seen[gl_PrimitiveID] = number + 1;
#endif
}
