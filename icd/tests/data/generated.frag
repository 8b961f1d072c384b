#version 450
layout(constant_id = 0) const uint FACTOR = 1;
layout(push_constant) uniform Push { uint value; uint sequence; };
layout(location = 0) out vec4 color;
// Shows the pushed numbers and the pipeline's own one.
void main() {
    color = vec4(value, sequence, FACTOR, 255) / 255.0;
}
