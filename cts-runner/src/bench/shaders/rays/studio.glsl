// A studio of six objects, each with a material of its own: squares above, and boxes below that
// contain a body.
layout(binding = 0) uniform accelerationStructureEXT scene;

// Direction to the light, and place of object `i` of a row.
const vec3 LIGHT = vec3(0.36, 0.48, -0.8);
vec3 place(int i, float height) { return vec3(float(i - 1) * 1.8, height, 4.0); }
