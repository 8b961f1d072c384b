#version 450
#extension GL_GOOGLE_include_directive : require
#include "lights.glsl"
// A workgroup per tile finds the lights that reach it.
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Lights { Light lights[]; };
layout(std430, binding = 1) writeonly buffer Lists { uint lists[]; };
layout(push_constant) uniform Push { uint count; };
shared uint found, members[LIST];
void main() {
    uint lane = gl_LocalInvocationID.x, tile = gl_WorkGroupID.x + gl_WorkGroupID.y * TILES;
    if (lane == 0u) found = 0u;
    barrier();
    vec2 least = vec2(gl_WorkGroupID.xy * 16u), most = least + 16.0;
    for (uint i = lane; i < count; i += 64u) {
        vec2 off = lights[i].middle - clamp(lights[i].middle, least, most);
        if (dot(off, off) < lights[i].radius * lights[i].radius) {
            uint slot = atomicAdd(found, 1u);
            if (slot < LIST) members[slot] = i;
        }
    }
    barrier();
    uint total = min(found, LIST), base = tile * (LIST + 1u);
    if (lane == 0u) lists[base] = total;
    if (lane < total) lists[base + 1u + lane] = members[lane];
}
