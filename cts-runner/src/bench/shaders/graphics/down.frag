#version 450
// Half the size; what is darker than the threshold goes.
layout(push_constant) uniform Push { float threshold; };
layout(set = 0, binding = 0) uniform sampler2D image;
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 result;
void main() { result = max(texture(image, uv) - threshold, 0.0); }
