#version 450
#extension GL_GOOGLE_include_directive : require
#include "box.glsl"
// A window of frosted glass: the blurred picture behind it, tinted, and its content over that.
layout(set = 0, binding = 0) uniform sampler2D blurred;
layout(set = 0, binding = 1) uniform sampler2D content_image;
layout(location = 0) in vec2 local;
layout(location = 0) out vec4 result;
void main() {
    vec3 color = mix(texture(blurred, gl_FragCoord.xy * (1.0 / 1024.0)).rgb, tint.rgb, tint.a);
    vec4 content = texture(content_image, local / rectangle.zw + 0.5);
    result = vec4(mix(color, content.rgb, content.a), clamp(0.5 - box(local), 0.0, 1.0));
}
