#version 460
//! api 1.2
#extension GL_EXT_ray_tracing : require
#extension GL_GOOGLE_include_directive : require
// A ray to the light that meets nothing.
layout(location = 1) rayPayloadInEXT float visible;

void main() {
    visible = 1.0;
}
