#version 450
#extension GL_GOOGLE_include_directive : require
#define SCENE 1
#include "march.glsl"
