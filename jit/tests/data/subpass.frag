#version 450
layout(input_attachment_index = 0, set = 8, binding = 0) uniform subpassInput color;
layout(input_attachment_index = 1, set = 8, binding = 1) uniform usubpassInputMS ids;
layout(location = 0) out vec4 o;
layout(location = 0, index = 1) out vec4 o1;
void main() { o = subpassLoad(color) + vec4(subpassLoad(ids, 2)); o1 = vec4(0.5); }
