// The light that leaves a point: the sun through a soft shadow, the sky, and a reflection.
layout(location = 0) rayPayloadInEXT Path path;
layout(location = 1) rayPayloadEXT float sunlit;
layout(location = 2) rayPayloadEXT Path reflected;

void shade(vec3 position, vec3 normal, vec3 color, float mirror) {
    vec3 eye = gl_WorldRayDirectionEXT;
    normal = dot(normal, eye) > 0.0 ? -normal : normal;
    vec3 start = position + normal * 0.002;
    // The sun is a small square in the sky.
    vec2 jitter = vec2(unit(path.seed), unit(path.seed + 1u)) - 0.5;
    vec3 direction = normalize(SUN);
    vec3 side = normalize(cross(direction, vec3(0.0, 1.0, 0.0)));
    direction = normalize(direction + 0.07 * (jitter.x * side + jitter.y * cross(side, direction)));
    float facing = dot(normal, direction);
    vec3 light = vec3(0.30, 0.36, 0.46) * (0.6 + 0.4 * normal.y) + vec3(0.10, 0.09, 0.07) * (0.5 - 0.5 * normal.y);
    if (facing > 0.0) {
        sunlit = 0.0;
        path.rays++;
        uint flags = gl_RayFlagsTerminateOnFirstHitEXT | gl_RayFlagsSkipClosestHitShaderEXT;
        traceRayEXT(scene, flags, 0xff, 0, 0, 1, start, 0.0, direction, 100.0, 1);
        light += SUNLIGHT * (facing * sunlit);
    }
    vec3 sum = color * light;
    if (mirror > 0.0) {
        float grazing = 1.0 + dot(normal, eye);
        float share = mirror + (1.0 - mirror) * grazing * grazing * grazing * grazing * grazing;
        vec3 away = reflect(eye, normal);
        vec3 seen = sky(away);
        if (path.depth < DEPTH) {
            reflected.depth = path.depth + 1u;
            reflected.rays = 1u;
            reflected.seed = mixed(path.seed + 7u);
            traceRayEXT(scene, gl_RayFlagsNoneEXT, 0xff, 0, 0, 0, start, 0.0, away, 200.0, 2);
            path.rays += reflected.rays;
            seen = reflected.light;
        }
        sum = mix(sum, seen * mix(vec3(1.0), color, 0.5), share);
    }
    path.light = sum;
}
