#version 450
// What stands behind a structure with a double in it.
struct Inner { vec3 a; dvec2 b; float c; };
struct Outer { mat3 m; Inner i; };
layout(location = 0, xfb_buffer = 0, xfb_stride=96, xfb_offset = 0) out Block { Outer o; int after; } block;
void main() {
    gl_Position = vec4(0);
    block.o.m = mat3(1);
    block.o.i.a = vec3(float(gl_VertexIndex));
    block.o.i.b = dvec2(3);
    block.o.i.c = 5;
    block.after = 1;
}
