//! Draws driven by stages written in Rust.
//!
//! The vertex stage copies its twelve inputs (position, colour, extra) to twelve outputs; fragment
//! stages interpolate the colour from `FragmentPrimitive` as its documentation defines.

mod bench;
mod bounds;
mod capture;
mod coverage;
mod geometry;
mod guard;
mod hidden;
mod lines;
mod memory;
mod ordered;
mod panics;
mod primitives;
mod rectangles;
mod samples;
mod stages;
mod state;

use crate::Engine;
use crate::api::*;
use base::abi::*;
use base::format::{Aspect, Format};
use base::fused::FusedMulAdd;
use base::image::{ImageDesc, ImageLayout};
use base::limits::MAX_COLOR_ATTACHMENTS;
use base::mem::{ImageMemory, MemoryRange};
use base::pixel::*;
pub use base::random::Rng;
use base::shader::*;
use execution::RunningCommand;
use std::sync::Arc;
use test_support::stage::{context, stage};

pub const RGBA8: u32 = 37;
pub const BGRA8: u32 = 44;
pub const R32F: u32 = 100;
pub const R32UI: u32 = 98;
pub const RGB32F: u32 = 106;
pub const RGBA32F: u32 = 109;
pub const D16: u32 = 124;
pub const D32F: u32 = 126;
pub const D24S8: u32 = 129;

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct V {
    pub position: [f32; 4],
    pub color: [f32; 4],
    /// Point size, layer bits, viewport bits, clip distance.
    pub extra: [f32; 4],
}

/// Returns the memory of the elements of a list, which are only read.
pub fn range_of<T>(list: &[T]) -> MemoryRange {
    MemoryRange { address: list.as_ptr().cast_mut().cast(), size: size_of_val(list) as u64 }
}

/// Returns a vertex at (x, y, z) with w = 1.
pub fn v(x: f32, y: f32, z: f32, color: [f32; 4]) -> V {
    V { position: [x, y, z, 1.0], color, extra: [1.0, 0.0, 0.0, 1.0] }
}

pub struct Image {
    memory: Vec<[u128; 4]>,
    pub layout: Arc<ImageLayout>,
    base: usize,
}
impl Image {
    pub fn new(vk: u32, w: u32, h: u32, samples: u32, layers: u32) -> Image {
        Image::laid_out(ImageLayout::new, vk, [w, h], samples, layers)
    }
    /// Makes an image of one sample and layer, in cells.
    pub fn in_cells(vk: u32, w: u32, h: u32) -> Image {
        Image::laid_out(ImageLayout::new_sparse, vk, [w, h], 1, 1)
    }
    fn laid_out(
        layout: impl Fn(ImageDesc) -> Option<ImageLayout>,
        vk: u32,
        [w, h]: [u32; 2],
        samples: u32,
        layers: u32,
    ) -> Image {
        let format = Format::from_vk(vk).expect("format");
        let desc = ImageDesc { format, dim: Dim::D2, extent: [w, h, 1], levels: 1, layers, samples };
        let layout = Arc::new(layout(desc).expect("small"));
        let mut memory = vec![[0u128; 4]; layout.size.div_ceil(64) as usize + 1];
        let base = (memory.as_mut_ptr() as usize).next_multiple_of(64);
        Image { memory, layout, base }
    }
    pub fn attachment(&self) -> Option<Attachment> {
        Some(Attachment {
            image: ImageMemory { base: self.base as *mut u8, layout: self.layout.clone() },
            format: self.layout.desc.format,
            level: 0,
            base_layer: 0,
            layers: self.layout.desc.layers,
            slices: false,
        })
    }
    /// Returns the address of the first texel of an aspect.
    pub fn address(&self, aspect: Aspect) -> *const u8 {
        (self.base + self.layout.offset(self.layout.plane_of(aspect.bit()), 0, 0, 0, [0; 3]) as usize) as *const u8
    }
    pub fn texel<T: Copy>(&self, aspect: Aspect, x: u32, y: u32, sample: u32, layer: u32) -> T {
        assert!(!self.memory.is_empty());
        let plane = self.layout.plane_of(aspect.bit());
        let offset = self.layout.offset(plane, 0, layer, sample, [x, y, 0]);
        assert!(offset as usize + size_of::<T>() <= self.layout.size as usize);
        // SAFETY: the texel lies inside the image.
        unsafe { ((self.base + offset as usize) as *const T).read_unaligned() }
    }
    pub fn color<T: Copy>(&self, x: u32, y: u32) -> T {
        self.texel(Aspect::Color, x, y, 0, 0)
    }
    /// Returns all bytes of the image.
    pub fn bytes(&self) -> Vec<u8> {
        // SAFETY: the memory is the image's own.
        unsafe { core::slice::from_raw_parts(self.base as *const u8, self.layout.size as usize).to_vec() }
    }
}

pub fn slot(kind: SlotKind, interpolation: Interpolation) -> Slot {
    Slot { kind, ty: SlotType::Float, interpolation }
}
pub fn user(location: u32, component: u8) -> SlotKind {
    SlotKind::User { location, component, index: 0 }
}

#[base::code_fn]
unsafe extern "code" fn copy_vertices(_: *const ShaderContext, batch: *mut BatchHeader) {
    // SAFETY: the stage is called with a `VertexBatch` of 12 slots in and out, and 4 lanes.
    unsafe {
        let b = &*batch.cast::<VertexBatch>();
        let words = b.count.next_multiple_of(4) as usize * 12;
        core::ptr::copy_nonoverlapping(b.inputs, b.outputs, words);
    }
}

/// Returns the stages of a pipeline.
pub fn stages(vertex: CompiledStage, fragment: Option<CompiledStage>) -> Arc<GraphicsStages> {
    Arc::new(GraphicsStages::new([vertex].into_iter().chain(fragment)).expect("a pipeline"))
}

pub fn vertex_stage() -> CompiledStage {
    let inputs = (0..12).map(|i| slot(user(i / 4, (i % 4) as u8), Interpolation::Smooth)).collect();
    let builtins =
        [BuiltinSlot::PointSize, BuiltinSlot::Layer, BuiltinSlot::ViewportIndex, BuiltinSlot::ClipDistance(0)];
    let kind = |i: u32| match i {
        0..4 => SlotKind::Builtin(BuiltinSlot::Position(i as u8)),
        4..8 => user(0, (i - 4) as u8),
        _ => SlotKind::Builtin(builtins[i as usize - 8]),
    };
    let outputs = (0..12).map(|i| slot(kind(i), Interpolation::Smooth)).collect();
    stage(StageSpecificInfo::Vertex, copy_vertices, 4, StageInterface { inputs, outputs, placements: Vec::new() })
}

/// Returns the interpolated value of input `slot` at (fx, fy) in the framebuffer.
pub unsafe fn interpolate(p: &FragmentPrimitive, slot: usize, fx: f32, fy: f32, mode: Interpolation) -> u32 {
    let (x, y) = (fx - p.origin[0] as f32, fy - p.origin[1] as f32);
    let plane = |b: [f32; 3]| b[0].fused_mul_add(x, b[1].fused_mul_add(y, b[2]));
    // SAFETY: all callers name an input slot of the stage.
    let [a0, d1, d2] = unsafe { *p.attributes.add(slot) };
    if mode == Interpolation::Flat {
        return a0;
    }
    let (mut p1, mut p2) = (plane(p.b1), plane(p.b2));
    if mode == Interpolation::Smooth {
        let w = 1.0 / plane(p.inv_w);
        (p1, p2) = (p1 * p.inv_w1 * w, p2 * p.inv_w2 * w);
    }
    let f = f32::from_bits;
    p2.fused_mul_add(f(d2), p1.fused_mul_add(f(d1), f(a0))).to_bits()
}

/// Runs `f(quad, pixel, colour) -> outputs` over the lanes of a fragment batch; `None` kills.
unsafe fn fragments<const N: usize>(
    batch: *mut BatchHeader,
    f: impl Fn(&FragmentQuad, usize, [u32; 4]) -> Option<[u32; N]>,
) {
    const LANES: usize = 8;
    // SAFETY: the stage is called with a `FragmentBatch` of N output slots and 8 lanes, padded to
    // whole chunks.
    unsafe {
        let b = &mut *batch.cast::<FragmentBatch>();
        for lane in 0..(b.count as usize * 4).next_multiple_of(LANES) {
            let quad = &*b.quads.add(lane / 4);
            let p = &*quad.primitive;
            let inside = &(*b.positions)[usize::from(quad.sample)];
            let (x, y) = (quad.x as f32 + inside.x[lane % 4], quad.y as f32 + inside.y[lane % 4]);
            let color = core::array::from_fn(|c| interpolate(p, c, x, y, Interpolation::Smooth));
            let chunk = lane / LANES;
            match f(quad, lane % 4, color) {
                Some(out) => {
                    for (slot, value) in out.into_iter().enumerate() {
                        *b.outputs.add((chunk * N + slot) * LANES + lane % LANES) = value;
                    }
                }
                None => *b.alive.add(chunk) &= !(1 << (lane % LANES)),
            }
        }
    }
}

#[base::code_fn]
pub unsafe extern "code" fn fs_color(_: *const ShaderContext, batch: *mut BatchHeader) {
    // SAFETY: the stage is called with a `FragmentBatch` of 4 output slots and 8 lanes.
    unsafe { fragments(batch, |_, _, c| Some(c)) };
}
/// Writes the colour of the first vertex.
#[base::code_fn]
pub unsafe extern "code" fn fs_flat(_: *const ShaderContext, batch: *mut BatchHeader) {
    // SAFETY: the stage is called with a `FragmentBatch` of 4 input and 4 output slots and 8
    // lanes.
    unsafe {
        fragments(batch, |q, _, _| {
            let of = |c| interpolate(&*q.primitive, c, 0.0, 0.0, Interpolation::Flat);
            Some::<[u32; 4]>(core::array::from_fn(of))
        });
    }
}
/// Kills pixels with an odd x.
#[base::code_fn]
pub unsafe extern "code" fn fs_kill(_: *const ShaderContext, batch: *mut BatchHeader) {
    // SAFETY: the stage is called with a `FragmentBatch` of 4 output slots and 8 lanes.
    unsafe { fragments(batch, |_, p, c| (p % 2 == 0).then_some(c)) };
}
/// Writes the colour, and the colour's red as depth.
#[base::code_fn]
pub unsafe extern "code" fn fs_depth(_: *const ShaderContext, batch: *mut BatchHeader) {
    // SAFETY: the stage is called with a `FragmentBatch` of 5 output slots and 8 lanes.
    unsafe { fragments(batch, |_, _, c| Some([c[0], c[1], c[2], c[3], c[0]])) };
}
/// Writes the sample number to red.
#[base::code_fn]
pub unsafe extern "code" fn fs_sample(_: *const ShaderContext, batch: *mut BatchHeader) {
    // SAFETY: the stage is called with a `FragmentBatch` of 4 output slots and 8 lanes.
    unsafe { fragments(batch, |q, _, _| Some([f32::from(q.sample).to_bits(), 0, 0, 0])) };
}
/// Writes the number of the pixel's samples that the stage covers to red.
#[base::code_fn]
pub unsafe extern "code" fn fs_samples(_: *const ShaderContext, batch: *mut BatchHeader) {
    // SAFETY: the stage is called with a `FragmentBatch` of 4 output slots and 8 lanes.
    unsafe {
        let (samples, quads, groups) = {
            let b = &*batch.cast::<FragmentBatch>();
            (b.samples, b.quads, b.groups)
        };
        fragments(batch, |q, p, _| {
            let many = *groups.offset((&raw const *q).offset_from(quads));
            let groups = if samples > 4 { many } else { [q.coverage, 0, 0, 0] };
            let count: u32 = groups.iter().map(|group| (group >> (4 * p) & 0xf).count_ones()).sum();
            Some([(count as f32).to_bits(), 0, 0, 0])
        });
    }
}
/// Writes the first byte of descriptor set 0 to red.
#[base::code_fn]
pub unsafe extern "code" fn fs_byte(context: *const ShaderContext, batch: *mut BatchHeader) {
    // SAFETY: the stage is called with a `FragmentBatch` of 4 output slots and 8 lanes, and a
    // context of `context_with_set`.
    unsafe {
        let byte = *(*context).sets[0];
        fragments(batch, |_, _, _| Some([f32::from(byte).to_bits(), 0, 0, 0]));
    }
}

/// Returns a fragment stage with colour output 0 and `extra` built-in outputs.
pub fn fragment_stage(entry: StageFn, extra: &[BuiltinSlot], info: FragmentInfo) -> CompiledStage {
    let inputs = (0..4).map(|c| slot(user(0, c), Interpolation::Smooth)).collect();
    let outputs = (0..4).map(|c| user(0, c)).chain(extra.iter().map(|&b| SlotKind::Builtin(b)));
    let outputs = outputs.map(|k| slot(k, Interpolation::Smooth)).collect();
    stage(StageSpecificInfo::Fragment(info), entry, 8, StageInterface { inputs, outputs, placements: Vec::new() })
}

/// Returns a context whose descriptor set 0 lies at `set`.
pub fn context_with_set(set: *const u8) -> Arc<ShaderContext> {
    let mut context = context();
    if let Some(context) = Arc::get_mut(&mut context) {
        context.sets[0] = set;
    }
    context
}

pub const OPAQUE: BlendAttachment = BlendAttachment { write_mask: 15, ..BlendAttachment::DISABLED };
pub const ADDITIVE: BlendAttachment =
    blending((BlendFactor::One, BlendFactor::One, BlendOp::Add), (BlendFactor::One, BlendFactor::One, BlendOp::Add));
/// Blending of colour over the attachment's colour; alpha is added.
pub const SRC_ALPHA: BlendAttachment = blending(
    (BlendFactor::SrcAlpha, BlendFactor::OneMinusSrcAlpha, BlendOp::Add),
    (BlendFactor::One, BlendFactor::One, BlendOp::Add),
);

pub const fn blending(color: BlendEquation, alpha: BlendEquation) -> BlendAttachment {
    BlendAttachment { enable: true, blending: Blending::Equations(BlendEquations { color, alpha }), write_mask: 15 }
}

pub fn state(topology: Topology, w: u32, h: u32) -> DrawState {
    let attribute = |i: u32| VertexAttribute {
        location: i,
        binding: 0,
        format: Format::from_vk(RGBA32F).expect("format"),
        offset: 16 * i,
    };
    DrawState {
        topology,
        attributes: (0..3).map(attribute).collect(),
        bindings: [VertexBinding { binding: 0, stride: size_of::<V>() as u32, per_instance: false, divisor: 1 }][..]
            .into(),
        viewports: [Viewport { x: 0.0, y: 0.0, width: w as f32, height: h as f32, min_depth: 0.0, max_depth: 1.0 }]
            .into(),
        scissors: [[0, 0, w as i32, h as i32]].into(),
        pixel: PixelState {
            depth_compare: CompareOp::Less,
            blend: [OPAQUE; MAX_COLOR_ATTACHMENTS],
            ..PixelState::default()
        },
        ..DrawState::default()
    }
}

pub fn draw_with(fragment: Option<CompiledStage>, state: DrawState, vertices: &[V]) -> Draw {
    draw_of(stages(vertex_stage(), fragment), state, vertices)
}
pub fn draw_of(stages: Arc<GraphicsStages>, state: DrawState, vertices: &[V]) -> Draw {
    Draw {
        running: RunningCommand { command: 1, pipeline: 1 },
        stages,
        state: Arc::new(state),
        context: context(),
        vertex_buffers: [range_of(vertices).into()][..].into(),
        index_buffer: None,
        groups: [1; 3],
        counts: DrawCounts {
            count: vertices.len() as u32,
            instances: 1,
            first: 0,
            vertex_offset: 0,
            first_instance: 0,
        },
        feedback: None,
        queries: QuerySinks::default(),
    }
}
pub fn draw(state: DrawState, vertices: &[V]) -> Draw {
    draw_with(Some(fragment_stage(fs_color, &[], FragmentInfo::default())), state, vertices)
}
pub fn indexed(mut d: Draw, indices: &[u16]) -> Draw {
    let range = range_of(indices);
    d.index_buffer = Some(IndexBuffer { range, before: 0, index_bytes: 2, restart: None });
    d.counts.count = indices.len() as u32;
    d
}

pub fn targets(color: &Image, depth: Option<&Image>) -> RenderTargets {
    let desc = &color.layout.desc;
    let mut targets = RenderTargets {
        samples: desc.samples,
        layers: desc.layers,
        area: [0, 0, desc.extent[0], desc.extent[1]],
        ..RenderTargets::default()
    };
    targets.color[0] = color.attachment();
    if let Some(d) = depth {
        targets.depth = d.attachment().filter(|a| a.format.has_depth());
        targets.stencil = d.attachment().filter(|a| a.format.has_stencil());
    }
    targets
}

pub fn render(threads: usize, targets: RenderTargets, draws: impl IntoIterator<Item = Draw>) {
    let engine = Engine::new(threads);
    let mut pass = engine.begin_rendering(targets);
    draws.into_iter().for_each(|d| _ = pass.draw(d));
    pass.end();
}

pub const WHITE: [f32; 4] = [1.0; 4];
