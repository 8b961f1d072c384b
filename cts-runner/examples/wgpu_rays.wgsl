enable wgpu_ray_query;

@group(0) @binding(0) var scene: acceleration_structure;
@group(0) @binding(1) var<storage, read> rays: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> hits: array<vec4<f32>>;

// Distance, instance, primitive and facing of the closest hit of each ray.
@compute @workgroup_size(64)
fn trace(@builtin(global_invocation_id) id: vec3<u32>) {
    let origin = rays[2u * id.x];
    let direction = rays[2u * id.x + 1u];
    var query: ray_query;
    rayQueryInitialize(&query, scene, RayDesc(0u, 0xffu, origin.w, direction.w, origin.xyz, direction.xyz));
    while rayQueryProceed(&query) {}
    let hit = rayQueryGetCommittedIntersection(&query);
    if hit.kind == RAY_QUERY_INTERSECTION_NONE {
        hits[id.x] = vec4(-1.0, 0.0, 0.0, 0.0);
    } else {
        let front = select(0.0, 1.0, hit.front_face);
        hits[id.x] = vec4(hit.t, f32(hit.instance_custom_data), f32(hit.primitive_index), front);
    }
}

@vertex
fn whole(@builtin(vertex_index) index: u32) -> @builtin(position) vec4<f32> {
    return vec4(select(-1.0, 3.0, index == 1u), select(-1.0, 3.0, index == 2u), 0.0, 1.0);
}

// White where the light reaches the ground seen from above, black in shadow, blue without a hit.
@fragment
fn shade(@builtin(position) at: vec4<f32>) -> @location(0) vec4<f32> {
    let plane = (at.xy / 256.0 - 0.5) * 7.0;
    let above = vec3(plane.x, 8.0, plane.y);
    var query: ray_query;
    rayQueryInitialize(&query, scene, RayDesc(0u, 0xffu, 0.0, 20.0, above, vec3(0.0, -1.0, 0.0)));
    while rayQueryProceed(&query) {}
    let hit = rayQueryGetCommittedIntersection(&query);
    if hit.kind == RAY_QUERY_INTERSECTION_NONE {
        return vec4(0.0, 0.0, 1.0, 1.0);
    }
    let position = above - vec3(0.0, hit.t - 0.001, 0.0);
    var shadow: ray_query;
    // The query ends at the first hit.
    rayQueryInitialize(&shadow, scene, RayDesc(0x4u, 0xffu, 0.0, 30.0, position, vec3(0.8, 0.6, 0.0)));
    while rayQueryProceed(&shadow) {}
    let lit = rayQueryGetCommittedIntersection(&shadow).kind == RAY_QUERY_INTERSECTION_NONE;
    return vec4(vec3(select(0.0, 1.0, lit)), 1.0);
}
