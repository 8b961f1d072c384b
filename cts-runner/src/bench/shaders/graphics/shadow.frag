#version 450
#extension GL_GOOGLE_include_directive : require
#include "box.glsl"
// A soft shadow that falls a little lower than its window.
layout(location = 0) in vec2 local;
layout(location = 0) out vec4 result;
void main() {
    float t = clamp(1.0 - box(local - vec2(0.0, 6.0)) / margin, 0.0, 1.0);
    result = vec4(0.0, 0.0, 0.0, 0.6 * t * t * (3.0 - 2.0 * t));
}
