#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) uniform samplerBuffer source;
layout(set = 0, binding = 1) uniform writeonly imageBuffer target;
void main() {
    int i = int(gl_GlobalInvocationID.x);
    if (i < textureSize(source))
        imageStore(target, i, texelFetch(source, i));
}
