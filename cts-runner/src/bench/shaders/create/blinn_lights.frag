#version 450
#extension GL_GOOGLE_include_directive : require
#include "light.glsl"
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
struct Light { vec4 place; vec4 color; };
layout(binding = 0) uniform Lights { Light lights[16]; uint unused; };
layout(push_constant) uniform Push { vec4 tint; float count; };
void main() {
    vec3 n = sphere_normal(uv), at = vec3(uv * 2.0 - 1.0, 0.0), sum = vec3(0.05);
    int last = 4 + int(count * 12.0);
    for (int i = 0; i < last; i++) {
        vec3 d = lights[i].place.xyz * 4.0 - 2.0 - at;
        d.z = abs(d.z) + 0.5;
        vec3 l = normalize(d), h = normalize(l + vec3(0.0, 0.0, 1.0));
        float fall = 1.0 / (1.0 + dot(d, d));
        sum += lights[i].color.rgb * fall * (max(dot(n, l), 0.0) + 0.5 * pow(max(dot(n, h), 0.0), 32.0)) * 0.5;
    }
    color = vec4(sum * tint.rgb, 1.0);
}
