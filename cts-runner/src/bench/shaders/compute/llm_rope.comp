#version 450
// Rotary positions: the two values of a pair (half a head apart) are turned by an angle that falls with the pair's number.
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer X { float x[]; };
layout(std430, binding = 1) writeonly buffer Y { float y[]; };
const uint HEAD = 128u, HALF = 64u, HEADS = 32u;
void main() {
    // A workgroup per head of a token, an invocation per pair.
    uint pair = gl_LocalInvocationID.x, base = gl_WorkGroupID.x * HEAD + pair, token = gl_WorkGroupID.x / HEADS;
    // 10000^(-2 pair / HEAD); the angle is brought into the range where sine and cosine are precise.
    float turns = float(token) * exp2(float(pair) * (-13.287712 / float(HALF))) * 0.15915494;
    float angle = (turns - floor(turns + 0.5)) * 6.2831853, s = sin(angle), c = cos(angle);
    float a = x[base], b = x[base + HALF];
    y[base] = a * c - b * s;
    y[base + HALF] = a * s + b * c;
}
