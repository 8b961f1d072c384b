#version 450
// Reads the clocks of subgroup and device, in one word and in two.
#extension GL_ARB_shader_clock : require
#extension GL_EXT_shader_realtime_clock : require
#extension GL_ARB_gpu_shader_int64 : require
layout(local_size_x = 8) in;
layout(set = 0, binding = 0) buffer Out { uint64_t times[]; };
void main() {
    uint at = gl_LocalInvocationIndex * 4u;
    times[at] = clockARB();
    times[at + 1u] = clockRealtimeEXT();
    uvec2 words = clock2x32ARB();
    times[at + 2u] = packUint2x32(words);
    words = clockRealtime2x32EXT();
    times[at + 3u] = packUint2x32(words);
}
