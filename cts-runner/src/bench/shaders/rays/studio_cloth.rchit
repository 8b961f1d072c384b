#version 460
//! api 1.2
#extension GL_EXT_ray_tracing : require
#extension GL_GOOGLE_include_directive : require
// Cloth: diffuse threads that cross each other (Oren and Nayar's reflectance).
#include "studio_lit.glsl"
hitAttributeEXT vec2 weights;

void main() {
    vec3 point = hit_point(), normal = vec3(0, 0, -1);
    vec2 thread = sin(weights * 12.0) * 0.25;
    normal = normalize(normal + vec3(thread, 0));
    float cosine = max(dot(normal, LIGHT), 0.0);
    float view = max(-dot(normal, gl_WorldRayDirectionEXT), 0.0);
    float rough = 0.3, a = 1.0 - 0.5 * rough / (rough + 0.33), b = 0.45 * rough / (rough + 0.09);
    float sides = sqrt(max((1.0 - cosine * cosine) * (1.0 - view * view), 0.0));
    sides /= max(max(cosine, view), 0.01);
    float light = light_at(point, vec3(0, 0, -1)) * cosine * (a + b * sides);
    color = vec3(0.6, 0.15, 0.1) * (light + 0.15);
}
