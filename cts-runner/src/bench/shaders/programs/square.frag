#version 450
// The colour of a square. The variant changes its blue.
layout(constant_id = 1) const uint VARIANT = 0u;
layout(location = 0) flat in uint varied;
layout(location = 0) out vec4 result;

void main() {
    result = unpackUnorm4x8(varied ^ VARIANT << 16);
}
