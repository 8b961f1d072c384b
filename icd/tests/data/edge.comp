#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_shader_atomic_int64 : require
// Makes accesses of every width through pointers, once with an address for each lane, and once with
// each of the addresses for all lanes.
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint MODE = 0;
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Four { vec4 v; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Wide { u64vec4 v; };
layout(buffer_reference, scalar, buffer_reference_align = 1) buffer Word { uint v; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Long { uint64_t v; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Matrix { mat4 v; };
layout(buffer_reference, scalar, buffer_reference_align = 1) buffer Words { uint v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 1) buffer Byte { uint8_t v; };
layout(set = 0, binding = 0) buffer Out { uint result[]; };
layout(set = 0, binding = 1) readonly buffer Addresses { uint64_t addresses[]; };

uint access(uint64_t at, uint i) {
    uint r = 0u;
    switch (MODE) {
    case 0: { vec4 x = Four(at).v; r = floatBitsToUint(x.x + x.y + x.z + x.w); break; }
    case 1: Four(at).v = vec4(i); break;
    case 2: { u64vec4 x = Wide(at).v; r = uint(x.x + x.y + x.z + x.w); break; }
    case 3: Wide(at).v = u64vec4(i); break;
    case 4: r = Word(at).v; break;
    case 5: Word(at).v = i; break;
    case 6: r = atomicAdd(Word(at).v, 1u); break;
    case 7: r = uint(atomicMax(Long(at).v, uint64_t(i))); break;
    case 8: { mat4 m = Matrix(at).v; r = floatBitsToUint(m[0].x + m[3].w); break; }
    case 9: Matrix(at).v = mat4(float(i)); break;
    case 10: r = atomicCompSwap(Word(at).v, 5u, i); break;
    case 11: r = uint(Byte(at).v); Byte(at).v = uint8_t(i); break;
    case 12: atomicAdd(Word(at).v, i); break;
    case 13: r = Words(at).v[i]; break;
    case 14: Words(at).v[i * 7919u] = i; break;
    }
    return r;
}

void main() {
    uint i = gl_LocalInvocationIndex;
    uint r = access(addresses[i], i);
    for (uint k = 0u; k < 64u; k++)
        r += access(addresses[k], i);
    result[i] = r;
}
