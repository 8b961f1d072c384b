// The sum of a value of each of 64 lanes, in lane 0.
shared float parts[64];
float reduced(float value) {
    uint lane = gl_LocalInvocationID.x;
    parts[lane] = value;
    barrier();
    for (uint width = 32u; width > 0u; width >>= 1u) {
        if (lane < width) parts[lane] += parts[lane + width];
        barrier();
    }
    return parts[0];
}
