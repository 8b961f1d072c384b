// The shaders of the wgpu example. Positions are exact in binary, so that two drivers cover the same pixels.

@group(0) @binding(0) var<storage, read> seeds: array<u32>;
@group(0) @binding(1) var<storage, read_write> results: array<u32>;
var<workgroup> shared_sum: array<u32, 64>;

@compute @workgroup_size(64)
fn simulate(@builtin(global_invocation_id) global: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    var x = seeds[global.x];
    for (var k = 0u; k < (seeds[global.x] & 15u); k++) {
        x = x * 1664525u + 1013904223u;
        if ((x & 0x80u) != 0u) { x ^= x >> 13u; }
    }
    shared_sum[lane] = x & 0xffffu;
    workgroupBarrier();
    for (var gap = 32u; gap > 0u; gap /= 2u) {
        if (lane < gap) { shared_sum[lane] += shared_sum[lane + gap]; }
        workgroupBarrier();
    }
    results[global.x] = x ^ shared_sum[0];
}

struct Flat { @builtin(position) position: vec4<f32> }

@vertex
fn fill(@builtin(vertex_index) index: u32) -> Flat {
    let p = vec2<f32>(f32(index & 1u), f32(index >> 1u)) * 4.0 - 1.0;
    return Flat(vec4<f32>(p, 0.0, 1.0));
}

@group(0) @binding(0) var source: texture_2d<f32>;

// One level of the mip chain: the mean of four texels of the level above.
@fragment
fn halve(@builtin(position) position: vec4<f32>) -> @location(0) vec4<f32> {
    let p = vec2<i32>(position.xy) * 2;
    let top = textureLoad(source, p, 0) + textureLoad(source, p + vec2(1, 0), 0);
    let bottom = textureLoad(source, p + vec2(0, 1), 0) + textureLoad(source, p + vec2(1, 1), 0);
    return (top + bottom) * 0.25;
}

@group(0) @binding(1) var linear: sampler;
@group(0) @binding(2) var<storage, read> heights: array<u32>;

struct Lit {
    @builtin(position) position: vec4<f32>,
    @location(0) uv: vec2<f32>,
    @location(1) @interpolate(flat) shade: f32,
}

// A slanted strip per instance: they cross each other in depth, and lean away so that mipmaps are used.
@vertex
fn strip(@builtin(vertex_index) index: u32, @builtin(instance_index) instance: u32) -> Lit {
    let corner = vec2<f32>(f32(index & 1u), f32(index >> 1u));
    let random = heights[instance] & 63u;
    let lean = f32(random) / 64.0;
    let x = (f32(instance) - 6.0) * 0.125 + corner.x * 0.375 + corner.y * (lean - 0.5);
    let y = corner.y * 1.5 - 0.75;
    let z = 0.25 + 0.5 * mix(lean, 1.0 - lean, corner.y);
    let w = 1.0 + corner.y;
    var out: Lit;
    out.position = vec4<f32>(x * w, y * w, z * w, w);
    out.uv = corner * vec2<f32>(2.0, 6.0);
    out.shade = 0.5 + f32((heights[instance] >> 8u) & 63u) / 128.0;
    return out;
}

@fragment
fn shade(in: Lit) -> @location(0) vec4<f32> {
    return vec4<f32>(textureSample(source, linear, in.uv).rgb * in.shade, 1.0);
}
