#version 450
// Makes triangles, or lines and points of the same vertices: one in perspective, one that is cut by
// the planes of the view volume and reaches behind the viewer, and two that form a rectangle.
layout(location = 0) out float smooth_value;
layout(location = 1) noperspective out float linear_value;
layout(location = 2) out float value;
const vec4 POSITIONS[12] = vec4[](
    vec4(-0.9, -0.9, 0.1, 1.0), vec4(-0.9, 2.7, 0.9, 3.0), vec4(0.9, -0.45, 0.2, 1.5),
    vec4(0.2, 0.1, 0.5, 1.0), vec4(9.0, 0.3, 0.5, 2.0), vec4(0.5, 2.0, -0.5, -0.5),
    vec4(-0.8, -0.8, 0.5, 1.0), vec4(0.3, -0.8, 0.5, 1.0), vec4(-0.8, 0.6, 0.5, 1.0),
    vec4(-0.8, 0.6, 0.5, 1.0), vec4(0.3, -0.8, 0.5, 1.0), vec4(0.3, 0.6, 0.5, 1.0));
void main() {
    value = float(gl_VertexIndex * 5 % 12) / 8.0;
    smooth_value = value;
    linear_value = value;
    gl_Position = POSITIONS[gl_VertexIndex];
    gl_PointSize = 5.0;
}
