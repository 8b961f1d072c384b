#version 450
#extension GL_KHR_memory_scope_semantics : enable
#extension GL_EXT_demote_to_helper_invocation : enable
#pragma use_vulkan_memory_model
// With the Vulkan memory model it is the load of the built-in that is volatile, not the variable.
layout(location = 0) in float x;
layout(location = 0) out vec4 color;
void main() {
    if (x < 0.5) {
        demote;
    }
    color = vec4(gl_HelperInvocation ? 1.0 : 0.0);
}
