#version 450
// Four textures of a material under four lights.
layout(set = 0, binding = 0) uniform sampler2D albedo_image;
layout(set = 0, binding = 1) uniform sampler2D normal_image;
layout(set = 0, binding = 2) uniform sampler2D surface_image;
layout(set = 0, binding = 3) uniform sampler2D glow_image;
layout(set = 0, binding = 4) uniform Lights { vec4 lights[4]; };
layout(location = 0) in vec2 uv;
layout(location = 1) in vec3 place;
layout(location = 0) out vec4 result;
void main() {
    vec3 albedo = texture(albedo_image, uv).rgb;
    vec3 normal = normalize(vec3(texture(normal_image, uv).xy * 2.0 - 1.0, 1.0));
    vec4 surface = texture(surface_image, uv), glow = texture(glow_image, uv);
    float diffuse = 0.1, specular = 0.0;
    for (int i = 0; i < 4; i++) {
        vec3 to = lights[i].xyz - place;
        float square = dot(to, to), reach = lights[i].w / (1.0 + 4.0 * square);
        vec3 direction = to * inversesqrt(square), between = normalize(direction + vec3(0.0, 0.0, 1.0));
        diffuse += reach * max(dot(normal, direction), 0.0);
        float s = max(dot(normal, between), 0.0);
        s *= s; s *= s; s *= s;
        specular += reach * s;
    }
    vec3 color = albedo * diffuse * surface.x * (1.0 - 0.5 * surface.y) + specular * surface.z * 0.5 + glow.rgb * glow.a * 0.3;
    result = vec4(color, 1.0);
}
