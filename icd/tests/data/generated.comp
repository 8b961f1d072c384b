#version 450
layout(local_size_x = 1) in;
layout(constant_id = 0) const uint FACTOR = 1;
layout(set = 0, binding = 0) buffer Data { uint data[]; };
layout(push_constant) uniform Push { uint value; uint sequence; };
// Adds a multiple of the pushed value to the words of a sequence.
void main() {
    atomicAdd(data[sequence * 4 + gl_WorkGroupID.x], value * FACTOR);
}
