#version 450
// Makes a rectangle of a point in each of four streams, 16 pixels from the previous one, and 4
// columns wider. The third stream has a further strip, which is too short. The last stream has
// nothing if the number of the point is even.
layout(points, invocations = 2) in;
layout(triangle_strip, max_vertices = 18) out;
layout(location = 0) flat in uint number[];
layout(stream = 0, xfb_buffer = 0, xfb_stride = 16, xfb_offset = 0, location = 0) flat out uvec3 first;
layout(stream = 2, xfb_buffer = 1, xfb_stride = 12, xfb_offset = 4, location = 1) flat out uvec2 third;
layout(stream = 2, xfb_buffer = 3, xfb_stride = 4, xfb_offset = 0, location = 2) flat out uint other;
layout(stream = 3, xfb_buffer = 2, xfb_stride = 4, xfb_offset = 0, location = 3) flat out uint last;
layout(stream = 1) out gl_PerVertex { vec4 gl_Position; };

void place(uint corner, uint stream) {
    vec2 at = vec2(stream * 16 + (corner & 1) * 4 * (stream + 1), (corner >> 1) * 64);
    gl_Position = vec4(at / 32.0 - 1.0, 0.5, 1.0);
}

void main() {
    for (uint k = 0; k < 4; k++) {
        place(k, 1);
        EmitStreamVertex(1);
        first = uvec3(number[0], gl_InvocationID, k);
        place(k, 0);
        EmitStreamVertex(0);
        if ((number[0] & 1) != 0) {
            last = 100 * number[0] + 10 * gl_InvocationID + k;
            place(k, 3);
            EmitStreamVertex(3);
        }
        third = uvec2(number[0], k);
        other = gl_InvocationID;
        place(k, 2);
        EmitStreamVertex(2);
    }
    EndStreamPrimitive(2);
    for (uint k = 0; k < 2; k++) {
        third = uvec2(0);
        other = 0;
        place(k, 2);
        EmitStreamVertex(2);
    }
}
