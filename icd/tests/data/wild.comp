#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
layout(local_size_x = 16) in;
layout(constant_id = 0) const uint MODE = 0;
layout(buffer_reference, std430) buffer Word { uint value; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Block { mat4 values; };
layout(set = 0, binding = 0) buffer Out { uint result[]; };
layout(set = 0, binding = 1) readonly buffer Addresses { uvec2 addresses[]; };

void main() {
    uint i = gl_LocalInvocationIndex;
    uvec2 at = addresses[i];
    uint r = 0u;
    switch (MODE) {
    case 0: r = Word(at).value; break;
    case 1: Word(at).value = 7u; break;
    case 2: r = atomicAdd(Word(at).value, 1u); break;
    case 3: r = floatBitsToUint(Block(at).values[3].w); break;
    case 4: Block(at).values = mat4(1.0); break;
    case 5: r = Word(addresses[gl_WorkGroupID.x + 5u]).value; break;
    }
    result[i] = r;
}
