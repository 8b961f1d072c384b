#version 450
#extension GL_EXT_fragment_shader_barycentric : require
// Counts fragments, and those whose barycentric coordinates do not weight the values of the vertices
// as the rasterizer interpolates them, or are no weights.
layout(location = 0) in float smooth_value;
layout(location = 1) noperspective in float linear_value;
layout(location = 2) pervertexEXT in float values[3];
layout(set = 0, binding = 0) buffer Seen { uint fragments; uint wrong; uint each[]; };
bool weights(vec3 of, float value) {
    vec3 low = vec3(-1e-3), high = vec3(1.001);
    bool inside = all(greaterThanEqual(of, low)) && all(lessThanEqual(of, high));
    float sum = of.x * values[0] + of.y * values[1] + of.z * values[2];
    return inside && abs(of.x + of.y + of.z - 1.0) < 1e-5 && abs(sum - value) < 1e-3;
}
void main() {
    atomicAdd(fragments, 1);
    const vec2 by = vec2(0.25, -0.25);
    bool right = weights(gl_BaryCoordEXT, smooth_value) && weights(gl_BaryCoordNoPerspEXT, linear_value)
        && weights(interpolateAtCentroid(gl_BaryCoordEXT), interpolateAtCentroid(smooth_value));
    vec3 moved = interpolateAtOffset(gl_BaryCoordNoPerspEXT, by);
    float sum = moved.x * values[0] + moved.y * values[1] + moved.z * values[2];
    right = right && abs(sum - interpolateAtOffset(linear_value, by)) < 1e-3;
    if (!right) atomicAdd(wrong, 1);
}
