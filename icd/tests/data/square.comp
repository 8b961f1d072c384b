#version 450
layout(local_size_x_id = 0) in;
layout(local_size_x = 64) in;
layout(constant_id = 1) const uint FACTOR = 3;
layout(set = 0, binding = 0) buffer Data { uint data[]; };
layout(set = 0, binding = 1) uniform Params { uint offset; };
layout(push_constant) uniform Push { uint add; };
shared uint tile[256];
void main() {
    uint i = gl_GlobalInvocationID.x;
    tile[gl_LocalInvocationID.x] = data[i];
    barrier();
    uint n = gl_WorkGroupSize.x;
    uint mirrored = tile[n - 1 - gl_LocalInvocationID.x];
    data[i] = mirrored * FACTOR + offset + add;
}
