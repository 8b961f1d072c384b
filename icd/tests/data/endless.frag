#version 450
layout(set = 0, binding = 0) readonly buffer Stop { uint stop; };
layout(location = 0) out vec4 color;
void main() {
    uint n = uint(gl_FragCoord.x);
    // Only some invocations never end.
    while (stop == 0u && gl_FragCoord.x > 20.0) {
        n = n * 3u + 1u;
    }
    color = vec4(float(n & 1u), 0.0, 0.0, 1.0);
}
