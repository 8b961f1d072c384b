// The vertices of the triangle that was hit.
hitAttributeEXT vec2 corner;

vec3 vector_of(uint index, uint offset) {
    uint at = index * 8u + offset;
    return vec3(vertices[at], vertices[at + 1u], vertices[at + 2u]);
}

vec3 smooth_normal(Object object) {
    uint at = object.first + 3u * uint(gl_PrimitiveID);
    vec3 weights = vec3(1.0 - corner.x - corner.y, corner);
    vec3 normal = weights.x * vector_of(indices[at], 3u) + weights.y * vector_of(indices[at + 1u], 3u)
        + weights.z * vector_of(indices[at + 2u], 3u);
    return normalize(mat3(gl_ObjectToWorldEXT) * normal);
}
