//! Batches: the mutable argument of a compiled stage.
//!
//! One function type for every stage: `fn(&ShaderContext, &mut Batch)`. A call works through all chunks of the batch.
//! `inputs` and `outputs` are `[chunk][slot][lane]` arrays of 32-bit values ([`SlotLayout`](super::SlotLayout)); slots are those of
//! [`crate::shader::StageInterface`], in its order. Every buffer of a batch is padded to a whole chunk and aligned to 32 bytes.

use super::context::ShaderContext;
use super::layout::{Layout, layout};

/// A compiled stage. `batch` points to the stage's own batch struct, whose first field is [`BatchHeader`].
///
/// # Safety
/// `ctx` and `batch` must be valid for the call and laid out as the stage's interface says.
pub type StageFn = unsafe extern "C" fn(ctx: *const ShaderContext, batch: *mut BatchHeader);

/// Common head of all batches.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct BatchHeader {
    /// Per-worker scratch memory, aligned to 32 bytes, `StageCode::scratch_bytes` long (private arrays, and for a
    /// stage with barriers the values that live across them). Contents need no initialisation.
    pub scratch: *mut u8,
    /// 64 writable bytes that nobody reads: where masked-out scalar stores go.
    pub sink: *mut u8,
}

/// Vertices of a draw.
#[repr(C)]
pub struct VertexBatch {
    /// Common head.
    pub header: BatchHeader,
    /// Vertices in the batch; chunks = ceil(count / lanes).
    pub count: u32,
    #[doc(hidden)]
    pub _pad: u32,
    /// `VertexIndex` per vertex, padded to whole chunks.
    pub vertex_index: *const u32,
    /// `InstanceIndex` per vertex, padded to whole chunks.
    pub instance_index: *const u32,
    /// Attributes, `[chunk][input slot][lane]`.
    pub inputs: *const u32,
    /// `[chunk][output slot][lane]`.
    pub outputs: *mut u32,
}

/// Invocations of a stage that takes primitives and makes vertices, as many as it likes: a lane is an invocation of a primitive.
///
/// The vertices that the lanes of a chunk make lie in *rows*, each of one vertex per lane: a lane's vertices are its own in the chunk's first
/// rows. A chunk has as many rows as that of its lanes has vertices that has most, and they follow the rows of the chunk before it.
#[repr(C)]
pub struct PrimitiveBatch {
    /// Common head.
    pub header: BatchHeader,
    /// Invocations; chunks = ceil(count / lanes). Those that fill the last chunk repeat valid ones, and are not looked at.
    pub count: u32,
    /// Rows that chunks have filled; 0 at first.
    pub rows: u32,
    /// Outputs of the stage before.
    pub inputs: *const u32,
    /// By input slot.
    pub sources: *const InputSource,
    /// Byte offsets into `inputs` of slot 0 of each primitive's vertices, `[chunk][vertex][lane]`.
    pub vertices: *const u32,
    /// `PrimitiveId`, `[chunk][lane]`.
    pub primitive_id: *const u32,
    /// `InvocationId`, `[chunk][lane]`.
    pub invocation_id: *const u32,
    /// `[row][output slot][lane]`: as many rows for every chunk as a lane may make vertices, and one more.
    pub outputs: *mut u32,
    /// Out, `[chunk][lane]`: vertices made, all streams together; more than there may be stands for the most.
    pub counts: *mut u32,
    /// Out, by chunk: its first row.
    pub first_rows: *mut u32,
}

/// Where the outputs of the stage before have an input slot of this one.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InputSource {
    /// Bytes behind slot 0 of a vertex, or behind the first byte of a patch.
    pub offset: u32,
    /// All ones; 0 where nobody writes the slot, which reads 0.
    pub mask: u32,
    /// Bytes from a vertex of a patch to its next; 0 for what the patch has once, and for vertices that have a place each.
    pub stride: u32,
}

/// Patches of a tessellation control stage: each is a workgroup, whose invocations are the vertices that it makes.
///
/// The outputs are the workgroup memory, which every invocation reads and writes: [`WorkgroupFacts::patch_bytes`] for each patch, one behind the
/// other, with the slots where [`StageInterface::places`] says. (What is not written stays as it was.)
///
/// [`WorkgroupFacts::patch_bytes`]: crate::shader::WorkgroupFacts::patch_bytes
/// [`StageInterface::places`]: crate::shader::StageInterface::places
#[repr(C)]
pub struct ControlBatch {
    /// The patches as workgroups: a row, beginning at 0.
    pub groups: ComputeBatch,
    /// Vertices of a patch that comes, at least 1: `PatchVertices`.
    pub given: u32,
    #[doc(hidden)]
    pub _pad: u32,
    /// Outputs of the vertex stage.
    pub inputs: *const u32,
    /// By input slot.
    pub sources: *const InputSource,
    /// Byte offsets into `inputs` of slot 0 of the vertices, `[patch][vertex]`.
    pub vertices: *const u32,
    /// `PrimitiveId` by patch.
    pub primitive_id: *const u32,
}

/// Workgroups of a task or mesh stage, each with memory of its own, one behind the other: [`WorkgroupFacts::group_bytes`] for each, where it finds and leaves
/// what [`GROUP_HEAD`], [`TaskFacts`] and [`MeshFacts`] say. What it finds are zeros, and the payload.
///
/// [`WorkgroupFacts::group_bytes`]: crate::shader::WorkgroupFacts::group_bytes
/// [`GROUP_HEAD`]: crate::shader::GROUP_HEAD
/// [`TaskFacts`]: crate::shader::TaskFacts
/// [`MeshFacts`]: crate::shader::MeshFacts
#[repr(C)]
pub struct MeshBatch {
    /// The workgroups.
    pub groups: ComputeBatch,
    /// `NumWorkgroups`: of the draw, or of the task that has asked for them.
    pub num_workgroups: [u32; 3],
    #[doc(hidden)]
    pub _pad: u32,
}

/// Vertices that the tessellator has made of patches, for a tessellation evaluation stage.
#[repr(C)]
pub struct EvaluationBatch {
    /// Common head.
    pub header: BatchHeader,
    /// Vertices; chunks = ceil(count / lanes). Those that fill the last chunk repeat valid ones.
    pub count: u32,
    /// Vertices of a patch, at least 1: `PatchVertices`.
    pub given: u32,
    /// Memory of patches ([`ControlBatch`]).
    pub inputs: *const u32,
    /// By input slot.
    pub sources: *const InputSource,
    /// Byte offset into `inputs` of each vertex's patch, `[chunk][lane]`.
    pub patches: *const u32,
    /// `TessCoord`, `[chunk][component][lane]`.
    pub coordinates: *const u32,
    /// `PrimitiveId`, `[chunk][lane]`.
    pub primitive_id: *const u32,
    /// `[chunk][output slot][lane]`.
    pub outputs: *mut u32,
}

/// What the fragment stage reads of a primitive; the rasterizer fills it once per surviving primitive.
///
/// With pixel position (x, y) in framebuffer coordinates relative to `origin`:
/// `l1 = fma(b1[0], x, fma(b1[1], y, b1[2]))` and `l2` likewise are the screen-space (linear) barycentrics of vertices 1 and 2;
/// `w = 1 / fma(iw[0], x, fma(iw[1], y, iw[2]))`; perspective-correct barycentrics are `p1 = (l1 * inv_w1) * w`,
/// `p2 = (l2 * inv_w2) * w`; an attribute is `fma(p2, d2, fma(p1, d1, a0))` with `[a0, d1, d2]` of its slot in `attributes`
/// (`d1 = a1 - a0`, `d2 = a2 - a0`). Depth is `z[0]*x + (z[1]*y + z[2])` in four roundings, as in the depth test.
/// NoPerspective uses l1, l2. Flat uses `[a, _, _]` of a flat slot (provoking vertex, raw bits).
/// Lines: vertices 0 and 1, d2 = 0. Points: d1 = d2 = 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FragmentPrimitive {
    /// Linear barycentric plane of vertex 1: dx, dy, constant.
    pub b1: [f32; 3],
    /// Linear barycentric plane of vertex 2.
    pub b2: [f32; 3],
    /// 1/w plane.
    pub inv_w: [f32; 3],
    /// 1/w of vertex 1.
    pub inv_w1: f32,
    /// 1/w of vertex 2.
    pub inv_w2: f32,
    /// Depth plane dx, dy, constant (after viewport transform and depth bias), for FragCoord.z.
    pub z: [f32; 3],
    /// Integer framebuffer position that x and y above are relative to (keeps the planes exact far from 0).
    pub origin: [i32; 2],
    /// `[slot][3]` bits of f32, slots in the fragment interface's input order; four bytes behind the last row are readable.
    pub attributes: *const [u32; 3],
    /// Non-zero for front-facing.
    pub front_facing: u32,
    /// `PrimitiveId`.
    pub primitive_id: u32,
    /// `Layer`.
    pub layer: u32,
    /// `ViewportIndex`.
    pub viewport_index: u32,
    /// Point primitives: framebuffer position of the sprite's upper left corner, and 1/size; PointCoord = (frag - upper left) * inv_size.
    pub point_origin: [f32; 2],
    /// See `point_origin`; 0 for other primitives.
    pub point_inv_size: f32,
    /// Not 0: 1/w is 1 at all vertices, and so the perspective-correct barycentrics are the linear ones, bit for bit.
    pub affine: u32,
}

/// One quad (2×2 pixels). Lane order in the quad: (0,0), (1,0), (0,1), (1,1).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FragmentQuad {
    /// Framebuffer position of lane 0; even.
    pub x: u16,
    /// See `x`.
    pub y: u16,
    /// Sample coverage of the four pixels: 4 bits of samples per pixel, pixel p's sample s at bit `4*p + s`. With one
    /// sample only bits 0, 4, 8, 12 occur. A pixel with no bit is a helper invocation. Of more than four samples this is the
    /// union of the quad's groups ([`SampleGroups`]).
    pub coverage: u16,
    /// Sample this invocation shades (sample shading: one quad entry per sample), or [`FragmentBatch::CENTRE`].
    pub sample: u16,
    /// The primitive.
    pub primitive: *const FragmentPrimitive,
}

/// Most rasterization samples.
pub const MAX_SAMPLES: usize = 16;

/// Coverage of a quad by samples in groups of four: bit `4*p + s` of group g is pixel p's sample `4*g + s`.
pub type SampleGroups = [u16; MAX_SAMPLES / 4];

/// Positions of samples, and behind them, up to [`FragmentBatch::CENTRE`], of the pixel centres.
pub type SamplePositions = [QuadPositions; MAX_SAMPLES + 1];

/// Quads of a tile.
#[repr(C)]
pub struct FragmentBatch {
    /// Common head.
    pub header: BatchHeader,
    /// Quads, up to [`FragmentBatch::MOST_QUADS`]; lanes = 4 × quads, chunks = ceil(4*count / lanes). Entries beyond `count` up to a whole chunk, and to a multiple
    /// of [`FragmentBatch::PADDING`], repeat a valid quad with coverage 0.
    pub count: u32,
    /// Rasterization samples of the pipeline: 1, 2, 4, 8 or 16.
    pub samples: u32,
    /// `count` entries, padded.
    pub quads: *const FragmentQuad,
    /// `[chunk][output slot][lane]`.
    pub outputs: *mut u32,
    /// Out, one u32 per chunk, of 64 lanes two: bit per lane, set where the invocation is still alive (not killed, not demoted). Helper lanes may be set or not.
    pub alive: *mut u32,
    /// By `FragmentQuad::sample`.
    pub positions: *const SamplePositions,
    /// By quad, padded as they are: coverage of more than four samples; zeros ([`FragmentBatch::NO_GROUPS`]) of fewer.
    pub groups: *const SampleGroups,
}

/// Pixels of a primitive that is [affine](FragmentPrimitive::affine): all from (x0, y0) to before (x1, y1), a chunk's lanes apart at least in x.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Rectangle {
    /// The first column.
    pub x0: u16,
    /// The first row.
    pub y0: u16,
    /// The column behind the last one.
    pub x1: u16,
    /// The row behind the last one.
    pub y1: u16,
    /// The primitive.
    pub primitive: *const FragmentPrimitive,
}

/// The most lanes of a chunk of a stage that takes rectangles.
pub const RECTANGLE_LANES: usize = 16;

/// Rectangles of a tile, for a fragment stage that writes colours itself ([`crate::epilogue`]): one sample, no tests, texels of four bytes. They are taken in order.
#[repr(C)]
pub struct RectangleBatch {
    /// Common head.
    pub header: BatchHeader,
    /// How many.
    pub count: u32,
    /// All columns before this one, [`RECTANGLE_LANES`] at least, may be read and written as they are.
    pub end: u32,
    /// The rectangles.
    pub rectangles: *const Rectangle,
    /// Where the texel (0, 0) would lie.
    pub target: *mut u8,
    /// Bytes between rows.
    pub pitch: u64,
}

/// Positions in the four pixels of a quad, relative to the corner of its first pixel: 0..2.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuadPositions {
    /// By lane.
    pub x: [f32; 4],
    /// By lane.
    pub y: [f32; 4],
}

/// An input of [`Helper::Interpolate`](super::Helper::Interpolate): its slot, and whether with perspective.
pub const fn interpolated(slot: u32, perspective: bool) -> u32 {
    slot << 1 | perspective as u32
}

impl FragmentBatch {
    /// `FragmentQuad::sample` of per-pixel shading.
    pub const CENTRE: u16 = MAX_SAMPLES as u16;

    /// Most quads.
    pub const MOST_QUADS: usize = 64;

    /// Quads of the chunks that code may have whose stage has fewer lanes: those of a vector of 512 bits.
    pub const PADDING: usize = 4;

    /// `groups` of at most four samples: of a batch and the padding of its last chunk.
    pub const NO_GROUPS: &[SampleGroups; Self::MOST_QUADS + 16] = &[[0; MAX_SAMPLES / 4]; Self::MOST_QUADS + 16];

    /// `positions` for samples at (x, y) in 0..1 inside of each pixel.
    pub const fn positions(samples: &[[f32; 2]]) -> SamplePositions {
        let mut positions = [QuadPositions::new([0.5, 0.5]); MAX_SAMPLES + 1];
        let mut i = 0;
        while i < samples.len() && i < Self::CENTRE as usize {
            positions[i] = QuadPositions::new(samples[i]);
            i += 1;
        }
        positions
    }
}

impl QuadPositions {
    const fn new([x, y]: [f32; 2]) -> QuadPositions {
        QuadPositions { x: [x, x + 1.0, x, x + 1.0], y: [y, y, y + 1.0, y + 1.0] }
    }
}

/// Workgroups of a dispatch, one after the other; generated code loops over them and their chunks, and leaves when the abort flag is set.
#[repr(C)]
pub struct ComputeBatch {
    /// Common head. `scratch` has room for every chunk of the workgroup.
    pub header: BatchHeader,
    /// What is added to a workgroup's position to make its `WorkgroupId`.
    pub base: [u32; 3],
    /// Workgroups per row, rows per slice.
    pub groups: [u32; 2],
    /// Position of the first one.
    pub first: [u32; 3],
    /// How many, along rows; at least one.
    pub count: u32,
    #[doc(hidden)]
    pub _pad: u32,
    /// Workgroup (shared) memory, `WorkgroupFacts::shared_bytes` long, aligned to 64 bytes.
    pub shared: *mut u8,
}

macro_rules! batches {
    ($($(#[$doc:meta])* $kind:ident = $batch:ident;)*) => {
        /// The kinds of batch: what a call of a stage works on.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum BatchKind {
            $($(#[$doc])* $kind,)*
        }

        impl BatchKind {
            /// All.
            pub const ALL: &[BatchKind] = &[$(BatchKind::$kind),*];

            /// See [`Layout`].
            pub const fn layout(self) -> u64 {
                match self {
                    $(BatchKind::$kind => $batch::HASH,)*
                }
            }
        }
    };
}

batches! {
    /// [`VertexBatch`].
    Vertices = VertexBatch;
    /// [`ControlBatch`].
    Patches = ControlBatch;
    /// [`EvaluationBatch`].
    Domain = EvaluationBatch;
    /// [`PrimitiveBatch`].
    Primitives = PrimitiveBatch;
    /// [`MeshBatch`].
    Mesh = MeshBatch;
    /// [`FragmentBatch`].
    Quads = FragmentBatch;
    /// [`ComputeBatch`].
    Workgroup = ComputeBatch;
}

layout!(BatchHeader { scratch, sink });
layout!(VertexBatch { header, count, _pad, vertex_index, instance_index, inputs, outputs });
layout!(PrimitiveBatch {
    header,
    count,
    rows,
    inputs,
    sources,
    vertices,
    primitive_id,
    invocation_id,
    outputs,
    counts,
    first_rows
});
layout!(InputSource { offset, mask, stride });
layout!(ControlBatch { groups, given, _pad, inputs, sources, vertices, primitive_id });
layout!(MeshBatch { groups, num_workgroups, _pad });
layout!(EvaluationBatch { header, count, given, inputs, sources, patches, coordinates, primitive_id, outputs });
layout!(FragmentPrimitive {
    b1,
    b2,
    inv_w,
    inv_w1,
    inv_w2,
    z,
    origin,
    attributes,
    front_facing,
    primitive_id,
    layer,
    viewport_index,
    point_origin,
    point_inv_size,
    affine
});
layout!(FragmentQuad { x, y, coverage, sample, primitive });
layout!(FragmentBatch { header, count, samples, quads, outputs, alive, positions, groups });
layout!(QuadPositions { x, y });
layout!(Rectangle { x0, y0, x1, y1, primitive });
layout!(RectangleBatch { header, count, end, rectangles, target, pitch });
layout!(ComputeBatch { header, base, groups, first, count, _pad, shared });
