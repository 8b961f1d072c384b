#version 450
// Objects that can be seen are listed with their mesh's draw, whose number of instances grows.
layout(local_size_x = 64) in;
struct Draw { uint vertices, instances, first_vertex, first_instance; };
layout(std430, binding = 0) readonly buffer Objects { vec4 objects[]; };
layout(std430, binding = 1) buffer Draws { Draw draws[]; };
layout(std430, binding = 2) writeonly buffer Visible { uint visible[]; };
void main() {
    uint object = gl_GlobalInvocationID.x, mesh = object & 63u;
    vec4 o = objects[object];
    if (o.x < 1024.0 && o.y < 1024.0 && o.x + o.z > 0.0 && o.y + o.z > 0.0)
        visible[draws[mesh].first_instance + atomicAdd(draws[mesh].instances, 1u)] = object;
}
