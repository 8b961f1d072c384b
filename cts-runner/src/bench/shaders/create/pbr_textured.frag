#version 450
#extension GL_GOOGLE_include_directive : require
#include "light.glsl"
layout(location = 0) in vec2 uv;
layout(location = 0) out vec4 color;
layout(binding = 0) uniform sampler2D albedo;
layout(binding = 1) uniform sampler2D normals;
layout(binding = 2) uniform sampler2D surface;
layout(binding = 3) uniform sampler2D environment;
layout(binding = 4) uniform Frame { vec4 sun; vec4 sun_color; vec4 ambient; };
vec2 panorama(vec3 d) { return vec2(atan(d.x, d.z) / (2.0 * PI) + 0.5, acos(clamp(d.y, -0.999, 0.999)) / PI); }
void main() {
    vec3 g = sphere_normal(uv), t = normalize(vec3(g.z, 0.0, -g.x)), b = cross(g, t);
    vec3 bent = texture(normals, uv * 2.0).xyz * 2.0 - 1.0;
    vec4 orm = texture(surface, uv);
    vec3 n = normalize(mat3(t, b, g) * vec3(bent.xy * 0.4, 1.0)), v = vec3(0.0, 0.0, 1.0);
    Surface s = Surface(texture(albedo, uv).rgb, orm.b * 0.8, 0.2 + 0.7 * orm.g, n, v);
    vec3 r = reflect(-v, n), f = schlick(max(dot(n, v), 0.0), mix(vec3(0.04), s.albedo, s.metal));
    vec3 around = texture(environment, panorama(r)).rgb * f + texture(environment, panorama(n)).rgb * s.albedo * (1.0 - f);
    color = vec4(to_srgb(aces(lit(s, normalize(sun.xyz + 0.2), sun_color.rgb * 3.0) + around * (0.3 + ambient.r) * orm.a)), 1.0);
}
