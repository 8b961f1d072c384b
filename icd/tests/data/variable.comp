#version 450
#extension GL_EXT_nonuniform_qualifier : require
// There is one invocation: the other lanes of its chunk hold values that the previous descriptors
// did not give.
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer Out { uint o[]; };
layout(set = 0, binding = 1) buffer Array { uint d[]; } array[];
layout(push_constant) uniform Push { uint first; uint expected; uint index; uint value; };
void main() {
    uint sum = 0;
    sum |= array[sum + first].d[0] - expected;
    sum |= array[nonuniformEXT(sum + first)].d[0] - expected;
    sum |= array[sum + first].d[0] - expected;
    o[0] = sum;
    o[1] = array[index].d[0];
    o[2] = array[index].d.length();
    array[index].d[1] = value;
}
