#version 450
#extension GL_EXT_samplerless_texture_functions : enable
layout(early_fragment_tests) in;
layout(location = 0) in vec4 color;
layout(location = 1, component = 1) noperspective in vec2 uv;
layout(location = 2) flat in int id;
layout(location = 3) in Block { mat2 m; layout(location = 6) centroid vec3 n; } blk;
layout(location = 8) in vec4 arr[3];
layout(location = 0) out vec4 o0;
layout(location = 2) out ivec2 o2;
layout(set = 2, binding = 0) uniform sampler2D tex;
layout(set = 2, binding = 1) uniform sampler2DArrayShadow shadow;
layout(set = 2, binding = 2) uniform samplerCube cubes[4];
layout(set = 3, binding = 0) uniform texture3D vol;
layout(set = 3, binding = 1) uniform texture2DMS ms;
layout(set = 4, binding = 0) uniform sampler smp;
layout(set = 5, binding = 0, rgba8) uniform image2D img;
layout(set = 5, binding = 1, r32ui) uniform uimage2DArray cnt;
layout(set = 6, binding = 0) uniform isamplerBuffer tb;
layout(set = 7, binding = 0, r32f) uniform writeonly imageBuffer stb;
vec4 lit(vec4 c, float k) {
    if (k < 0.1) discard;
    return c * k;
}
void main() {
    vec4 c = texture(tex, uv) + textureLod(tex, uv, 1.0) + textureGrad(tex, uv, dFdx(uv), dFdyFine(uv)) + textureOffset(tex, uv, ivec2(1, -1), 0.5);
    c += textureProj(tex, vec3(uv, 2.0));
    c.x += texture(shadow, vec4(uv, 1.0, 0.5));
    c += texture(cubes[id & 3], vec3(uv, 1.0)) + texture(sampler3D(vol, smp), vec3(uv, 0.5));
    c += textureGather(tex, uv, 2) + textureGatherOffsets(tex, uv, ivec2[4](ivec2(0), ivec2(1), ivec2(-2), ivec2(3, 4)));
    c.xy += textureQueryLod(tex, uv);
    c += texelFetch(ms, ivec2(gl_FragCoord.xy), gl_SampleID) + texelFetch(tex, ivec2(3), 0) + vec4(texelFetch(tb, id));
    c += imageLoad(img, ivec2(gl_FragCoord.xy));
    imageStore(img, ivec2(gl_FragCoord.xy), c);
    imageAtomicAdd(cnt, ivec3(1, 2, 3), 4u);
    imageStore(stb, 3, vec4(1));
    c.xy += vec2(textureSize(tex, 0) + textureSize(cubes[1], 0) + imageSize(img)) + float(textureQueryLevels(tex) + textureSamples(ms) + textureSize(tb));
    c += interpolateAtOffset(arr[id], vec2(0.25)) + arr[id] + interpolateAtCentroid(color);
    o0 = lit(c, fwidth(blk.n.x)) * float(gl_FrontFacing) + vec4(gl_PointCoord, blk.m[0]);
    o2 = ivec2(id, gl_SampleID);
    gl_FragDepth = gl_FragCoord.z;
    gl_SampleMask[0] = gl_SampleMaskIn[0];
}
