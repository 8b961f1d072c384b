#version 450
#extension GL_EXT_fragment_shading_rate : require
layout(push_constant) uniform Push { int rate; int discards; };
layout(location = 0) out vec4 color;
// Writes twice the position of the fragment, its size, and the distances to its neighbours. Fragments
// in half of the squares of 4x4 pixels may be discarded.
void main() {
    ivec2 at = ivec2(2.0 * gl_FragCoord.xy);
    vec2 steps = vec2(dFdx(gl_FragCoord.x), dFdy(gl_FragCoord.y));
    if (discards != 0 && ((at.x / 8 + at.y / 8) & 1) != 0) {
        discard;
    }
    color = vec4(at, gl_ShadingRateEXT, 16.0 * steps.x + steps.y) / 255.0;
}
