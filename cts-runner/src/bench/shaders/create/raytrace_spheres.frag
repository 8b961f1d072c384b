#version 450
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(binding = 0) uniform Scene { vec4 balls[24]; };
float hit(vec3 o, vec3 d, vec4 ball) {
    vec3 c = o - ball.xyz;
    float b = dot(c, d), q = b * b - dot(c, c) + ball.w * ball.w;
    float t = -b - sqrt(max(q, 0.0));
    return q > 0.0 && t > 1e-3 ? t : 1e9;
}
void main() {
    vec3 o = vec3(0.0, 0.0, -4.0), d = normalize(vec3(uv * 2.0 - 1.0, 2.0)), sum = vec3(0.0), weight = vec3(1.0);
    for (int bounce = 0; bounce < 3; bounce++) {
        float t = 1e9;
        vec4 ball = vec4(0.0);
        for (int i = 0; i < 24; i++) {
            vec4 b = vec4(balls[i].xyz * 4.0 - 2.0, 0.2 + 0.4 * balls[i].w);
            float h = hit(o, d, b);
            if (h < t) {
                t = h;
                ball = b;
            }
        }
        if (t > 1e8) {
            sum += weight * mix(vec3(0.8), vec3(0.4, 0.6, 0.9), 0.5 + 0.5 * d.y);
            break;
        }
        vec3 p = o + d * t, n = (p - ball.xyz) / ball.w;
        sum += weight * 0.4 * max(dot(n, normalize(vec3(1.0, 1.0, -1.0))), 0.0) * fract(ball.xyz * 3.7);
        weight *= 0.5;
        o = p + n * 2e-3;
        d = reflect(d, n);
    }
    color = vec4(sum, 1.0);
}
