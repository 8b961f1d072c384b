#version 450
#extension GL_GOOGLE_include_directive : require
#define SCENE 3
#include "march.glsl"
