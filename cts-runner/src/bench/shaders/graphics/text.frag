#version 450
// The atlas has the coverage alone.
layout(set = 0, binding = 0) uniform sampler2D atlas;
layout(location = 0) flat in vec4 color;
layout(location = 1) in vec2 uv;
layout(location = 0) out vec4 result;
void main() { result = vec4(color.rgb, color.a * texture(atlas, uv).r); }
