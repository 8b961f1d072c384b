#version 450
#extension GL_EXT_fragment_shading_rate : require
layout(push_constant) uniform Push { int rate; };
layout(location = 0) in vec2 position;
layout(location = 0) out vec2 place;
// Gives its primitives a shading rate.
void main() {
    gl_Position = vec4(position, 0.0, 1.0);
    gl_PrimitiveShadingRateEXT = rate;
    place = position;
}
