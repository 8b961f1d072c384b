#version 450
// Each fragment changes the value that the previous one left in the attachment.
#ifdef LOOP
layout(set = 0, binding = 0) uniform usampler2D attachment;
#define PREVIOUS texelFetch(attachment, ivec2(gl_FragCoord.xy), 0).x
#else
layout(input_attachment_index = 0, set = 0, binding = 0) uniform usubpassInput attachment;
#define PREVIOUS subpassLoad(attachment).x
#endif
layout(location = 0) flat in uint number;
layout(location = 0) out uint color;
void main() {
    color = PREVIOUS * 5u + number + 1u;
}
