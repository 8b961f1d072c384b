#version 460
#extension GL_EXT_ray_tracing : require

// Traces a further ray until the record's number of rays are nested.
layout(push_constant) uniform Push { uvec2 structure; uint flags; uint table; };
layout(location = 0) rayPayloadInEXT uvec4 payload;
layout(location = 1) rayPayloadEXT uvec4 inner;
layout(shaderRecordEXT) buffer Record { uint value; };

void main() {
    uint depth = payload.z + 1;
    payload.x += depth;
    if (depth < value) {
        inner = uvec4(0, payload.y, depth, 0);
        traceRayEXT(accelerationStructureEXT(structure), flags, 0xff, 0, 0, 0,
            gl_WorldRayOriginEXT, 0.0, gl_WorldRayDirectionEXT, 100.0, 1);
        payload.x += inner.x;
    }
}
