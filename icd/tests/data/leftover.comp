#version 450
// Leaves secrets in workgroup and private memory, or reports what it finds there.
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint show, zero; } push;
layout(set = 0, binding = 0) buffer Data { uint data[]; };
shared uint words[4097];
void main() {
    uint own[64];
    const uint lane = gl_LocalInvocationIndex;
    if (push.show == 0) {
        for (uint i = 0; i < 65; i++) {
            const uint at = i * 64 + lane;
            if (at < 4097) words[at] = 0x5ec2e700u;
            own[(i + push.zero) & 63] = 0x5ec2e701u;
        }
        barrier();
        data[0] = words[push.zero] + own[push.zero];
    } else {
        uint found = 0;
        for (uint i = 0; i < 65; i++) {
            const uint at = i * 64 + lane;
            if (at < 4097) found += words[at] == 0 ? 0 : 1;
            found += own[(i ^ push.zero) & 63] == 0 ? 0 : 1;
        }
        if (found != 0) atomicAdd(data[1], found);
        atomicAdd(data[2], 1);
        // The compiler cannot know that nothing was written before.
        if (push.zero != 0) {
            words[lane] = push.zero;
            own[push.zero & 63] = 1;
        }
    }
}
