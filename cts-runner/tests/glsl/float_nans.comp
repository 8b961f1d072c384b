#version 450
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
//! input float -1 1
//! output float 0
//! outliers 0.2
// Vulkan does not say where there is a NaN, nor which (other drivers find x - x to be 0); here it is the same on every machine: the operand's, or one with a sign.
float own() { return (f(0u) - f(0u)) / (f(1u) - f(1u)); }
float given() { return uintBitsToFloat(0x7fc00000u | (u(0u) & 0xffffu)); }
void main() {
    float infinite = 1.0 / (f(0u) - f(0u));
    float x = f(2u);
    switch (id() % 8u) {
        case 0u: put(vec4(own(), infinite - infinite, infinite * (x - x), sqrt(-1.0 - x * x))); break;
        case 1u: put(vec4(-own(), abs(own()), abs(given()), -given())); break;
        case 2u: put(vec4(given() + x, x - given(), given() * x, x / given())); break;
        case 3u: put(vec4(fma(given(), x, x), fma(x, given(), x), fma(x, x, given()), fma(infinite, x - x, x))); break;
        case 4u: put(vec4(floor(given()), trunc(own()), sqrt(given()), mix(x, given(), 0.25))); break;
        case 5u: put(vec4(fma(x, infinite, -x * infinite), own() * 2.0, 1.0 - own(), own() / x)); break;
        case 6u: put(vec4(float(double(given())), float(double(own()) + double(x)), float(double(infinite) - double(infinite)), x)); break;
        default: put(vec4(x < 0.0 ? own() : given(), x < 0.0 ? given() : x, own() + x, given() - x));
    }
}
