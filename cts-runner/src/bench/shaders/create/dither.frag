#version 450
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
const int BAYER[16] = int[16](0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5);
void main() {
    ivec2 p = ivec2(gl_FragCoord.xy) & 3;
    float threshold = (float(BAYER[p.y * 4 + p.x]) + 0.5) / 16.0;
    vec3 c = vec3(uv, 1.0 - uv.x) * 3.0;
    color = vec4((floor(c) + step(threshold, fract(c))) / 3.0, 1.0);
}
