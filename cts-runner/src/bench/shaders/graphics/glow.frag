#version 450
// The light of many points, for fragments that are expensive.
layout(location = 0) out vec4 result;
void main() {
    vec2 at = gl_FragCoord.xy / 1024.0;
    vec3 sum = vec3(0.0);
    for (int i = 1; i <= 128; i++) {
        vec2 away = at - fract(float(i) * vec2(0.61803, 0.32471));
        float light = 0.001 / (0.001 + dot(away, away));
        sum += light * fract(float(i) * vec3(0.37, 0.71, 0.13));
    }
    result = vec4(sum / (1.0 + sum), 1.0);
}
