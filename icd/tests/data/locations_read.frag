#version 450
// Combines two input attachments in one output.
layout(input_attachment_index = 1, set = 0, binding = 0) uniform subpassInput first;
layout(input_attachment_index = 0, set = 0, binding = 1) uniform subpassInput second;
layout(location = 0) out vec4 color;
void main() {
    color = vec4(subpassLoad(first).g, subpassLoad(second).r, subpassLoad(second).b, subpassLoad(first).a);
}
