// What the compute tests share: 1024 invocations, four input words and four output words each.
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer In { uint words_in[]; };
layout(std430, binding = 1) buffer Out { uint words_out[]; };

uint id() { return gl_GlobalInvocationID.x; }
uint u(uint i) { return words_in[(id() * 4u + i) & 4095u]; }
int i(uint k) { return int(u(k)); }
float f(uint k) { return uintBitsToFloat(u(k)); }
vec4 v() { return vec4(f(0u), f(1u), f(2u), f(3u)); }
uvec4 uv() { return uvec4(u(0u), u(1u), u(2u), u(3u)); }
void put(uint k, uint value) { words_out[id() * 4u + k] = value; }
void put(uvec4 value) { put(0u, value.x); put(1u, value.y); put(2u, value.z); put(3u, value.w); }
void put(ivec4 value) { put(uvec4(value)); }
void put(vec4 value) { put(floatBitsToUint(value)); }
