#version 450
// 16 point lights over a G-buffer.
layout(set = 0, binding = 0) uniform sampler2D albedo_image;
layout(set = 0, binding = 1) uniform sampler2D normal_image;
layout(set = 0, binding = 2) uniform sampler2D material_image;
layout(set = 0, binding = 3) uniform sampler2D height_image;
layout(set = 0, binding = 4) uniform Lights { vec4 lights[16]; };
layout(location = 0) out vec4 result;
void main() {
    ivec2 at = ivec2(gl_FragCoord.xy);
    vec4 albedo = texelFetch(albedo_image, at, 0), material = texelFetch(material_image, at, 0);
    vec3 normal = texelFetch(normal_image, at, 0).xyz;
    vec3 place = vec3(gl_FragCoord.xy * (1.0 / 1024.0), texelFetch(height_image, at, 0).x);
    float diffuse = 0.0, specular = 0.0;
    for (int i = 0; i < 16; i++) {
        vec3 to = lights[i].xyz - place;
        float square = dot(to, to), reach = lights[i].w / (1.0 + 20.0 * square);
        vec3 direction = to * inversesqrt(square), between = normalize(direction + vec3(0.0, 0.0, 1.0));
        diffuse += reach * max(dot(normal, direction), 0.0);
        float s = max(dot(normal, between), 0.0);
        s *= s; s *= s; s *= s;
        specular += reach * s;
    }
    result = vec4(albedo.rgb * diffuse * (1.0 - 0.5 * material.x) + specular * material.y * 0.5, 1.0);
}
