//! Batches: the mutable argument of a compiled stage.
//!
//! All stages have one function type: `fn(&ShaderContext, &mut Batch)`. A call processes all chunks
//! of the batch. `inputs` and `outputs` are `[chunk][slot][lane]` arrays of 32-bit values
//! ([`SlotLayout`](super::SlotLayout)). Slots are those of [`crate::shader::StageInterface`], in
//! its order. Every buffer of a batch is padded to a whole chunk and aligned to 32 bytes.

use super::context::ShaderContext;
use super::layout::{Layout, layout};
use crate::limits::{MAX_FRAGMENT_SIZE_LOG2, MAX_SAMPLES};

/// The function of a compiled stage. `batch` points to the stage's own batch struct, whose first
/// field is [`BatchHeader`].
///
/// # Safety
/// `ctx` and `batch` must be valid for the call and laid out as the stage's interface specifies.
pub type StageFn = crate::code_type!(unsafe extern "code" fn(ctx: *const ShaderContext, batch: *mut BatchHeader));

/// The common head of all batches.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct BatchHeader {
    /// Per-worker scratch memory, aligned to 32 bytes, `StageCode::scratch_bytes` long (for private
    /// arrays, and for a stage with barriers the values that live across them). Contents need no
    /// initialisation.
    pub scratch: *mut u8,
    /// Sink: 64 writable bytes that are never read, to which masked-out scalar stores go.
    pub sink: *mut u8,
}

/// Vertices of a draw.
#[repr(C)]
pub struct VertexBatch {
    /// Common head of all batches.
    pub header: BatchHeader,
    /// Number of vertices in the batch; the number of chunks is ceil(count / lanes).
    pub count: u32,
    #[doc(hidden)]
    pub _pad: u32,
    /// `VertexIndex` per vertex, padded to whole chunks.
    pub vertex_index: *const u32,
    /// `InstanceIndex` per vertex, padded to whole chunks.
    pub instance_index: *const u32,
    /// Attributes, as `[chunk][input slot][lane]`.
    pub inputs: *const u32,
    /// Outputs, as `[chunk][output slot][lane]`.
    pub outputs: *mut u32,
}

/// Invocations of a stage that takes primitives and makes any number of vertices; a lane is an
/// invocation of a primitive.
///
/// The vertices that the lanes of a chunk make lie in *rows*, each of one vertex per lane: a lane's
/// vertices are in its own lane of the chunk's first rows. A chunk has as many rows as its lane
/// with the most vertices needs, and they follow the rows of the chunk before it.
#[repr(C)]
pub struct PrimitiveBatch {
    /// Common head of all batches.
    pub header: BatchHeader,
    /// Number of invocations; the number of chunks is ceil(count / lanes). Invocations that fill
    /// the last chunk repeat valid ones, and their results are ignored.
    pub count: u32,
    /// Number of rows that chunks have filled; 0 at first.
    pub rows: u32,
    /// Outputs of the stage before.
    pub inputs: *const u32,
    /// Sources of the inputs, by input slot.
    pub sources: *const InputSource,
    /// Byte offsets into `inputs` of slot 0 of each primitive's vertices, `[chunk][vertex][lane]`.
    pub vertices: *const u32,
    /// `PrimitiveId`, as `[chunk][lane]`.
    pub primitive_id: *const u32,
    /// `InvocationId`, as `[chunk][lane]`.
    pub invocation_id: *const u32,
    /// Outputs, as `[row][output slot][lane]`: for every chunk as many rows as a lane may make
    /// vertices, and one more.
    pub outputs: *mut u32,
    /// Output, `[chunk][lane]`: number of vertices made, for all streams together; a number above
    /// the maximum counts as the maximum.
    pub counts: *mut u32,
    /// Output, by chunk: its first row.
    pub first_rows: *mut u32,
}

/// The location of an input slot among the outputs of the stage before.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InputSource {
    /// Number of bytes after slot 0 of a vertex, or after the first byte of a patch.
    pub offset: u32,
    /// Mask of the loaded bits: all ones, or 0 if no stage writes the slot, which then reads 0.
    pub mask: u32,
    /// Number of bytes from one vertex of a patch to the next; 0 for values of the whole patch, and
    /// for vertices that are located one by one.
    pub stride: u32,
}

/// Patches of a tessellation control stage: each is a workgroup, whose invocations are the vertices
/// that it makes.
///
/// The outputs are the workgroup memory, which every invocation reads and writes. Each patch has
/// [`WorkgroupInfo::patch_bytes`], one after the other, with the slots at
/// [`StageInterface::placements`]. (Bytes that are not written stay unchanged.)
///
/// [`WorkgroupInfo::patch_bytes`]: crate::shader::WorkgroupInfo::patch_bytes
/// [`StageInterface::placements`]: crate::shader::StageInterface::placements
#[repr(C)]
pub struct ControlBatch {
    /// The patches as workgroups: a row that begins at 0.
    pub groups: ComputeBatch,
    /// Number of vertices of an input patch, at least 1: `PatchVertices`.
    pub patch_vertices: u32,
    #[doc(hidden)]
    pub _pad: u32,
    /// Outputs of the vertex stage.
    pub inputs: *const u32,
    /// Sources of the inputs, by input slot.
    pub sources: *const InputSource,
    /// Byte offsets into `inputs` of slot 0 of the vertices, `[patch][vertex]`.
    pub vertices: *const u32,
    /// `PrimitiveId` by patch.
    pub primitive_id: *const u32,
}

/// Workgroups of a task or mesh stage, each with its own memory of
/// [`WorkgroupInfo::workgroup_stride`], one after the other. The contents of the memory are
/// specified by [`WORKGROUP_HEADER_BYTES`], [`TaskInfo`] and [`MeshInfo`]. At the beginning, it
/// contains zeros and the payload.
///
/// [`WorkgroupInfo::workgroup_stride`]: crate::shader::WorkgroupInfo::workgroup_stride
/// [`WORKGROUP_HEADER_BYTES`]: crate::shader::WORKGROUP_HEADER_BYTES
/// [`TaskInfo`]: crate::shader::TaskInfo
/// [`MeshInfo`]: crate::shader::MeshInfo
#[repr(C)]
pub struct MeshBatch {
    /// The workgroups.
    pub groups: ComputeBatch,
    /// `NumWorkgroups` of the draw, or of the task that requested the workgroups.
    pub num_workgroups: [u32; 3],
    #[doc(hidden)]
    pub _pad: u32,
}

/// Vertices that the tessellator has made of patches, for a tessellation evaluation stage.
#[repr(C)]
pub struct EvaluationBatch {
    /// Common head of all batches.
    pub header: BatchHeader,
    /// Number of vertices; the number of chunks is ceil(count / lanes). Vertices that fill the last
    /// chunk repeat valid ones.
    pub count: u32,
    /// Number of vertices of a patch, at least 1: `PatchVertices`.
    pub patch_vertices: u32,
    /// Memory of patches ([`ControlBatch`]).
    pub inputs: *const u32,
    /// Sources of the inputs, by input slot.
    pub sources: *const InputSource,
    /// Byte offset into `inputs` of each vertex's patch, `[chunk][lane]`.
    pub patches: *const u32,
    /// `TessCoord`, as `[chunk][component][lane]`.
    pub coordinates: *const u32,
    /// `PrimitiveId`, as `[chunk][lane]`.
    pub primitive_id: *const u32,
    /// Outputs, as `[chunk][output slot][lane]`.
    pub outputs: *mut u32,
}

/// Values of a primitive that the fragment stage reads; the rasterizer fills it once per surviving
/// primitive.
///
/// The formulas use the pixel position (x, y) in framebuffer coordinates relative to `origin`:
/// - `l1 = fma(b1[0], x, fma(b1[1], y, b1[2]))`, and `l2` likewise, are the screen-space (linear)
///   barycentrics of vertices 1 and 2.
/// - `w = 1 / fma(iw[0], x, fma(iw[1], y, iw[2]))`.
/// - Perspective-correct barycentrics are `p1 = (l1 * inv_w1) * w` and `p2 = (l2 * inv_w2) * w`.
/// - An attribute is `fma(p2, d2, fma(p1, d1, a0))` with `[a0, d1, d2]` of its slot in
///   `attributes` (`d1 = a1 - a0`, `d2 = a2 - a0`).
/// - Depth is `z[0]*x + (z[1]*y + z[2])` in four roundings, as in the depth test.
/// - NoPerspective uses l1 and l2.
/// - Flat uses `[a, _, _]` of a flat slot (provoking vertex, raw bits).
///
/// Lines have vertices 0 and 1, and d2 = 0. Points have d1 = d2 = 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FragmentPrimitive {
    /// Linear barycentric plane of vertex 1: dx, dy, constant.
    pub b1: [f32; 3],
    /// Linear barycentric plane of vertex 2.
    pub b2: [f32; 3],
    /// Plane of 1/w.
    pub inv_w: [f32; 3],
    /// Value of 1/w at vertex 1.
    pub inv_w1: f32,
    /// Value of 1/w at vertex 2.
    pub inv_w2: f32,
    /// Depth plane dx, dy, constant (after viewport transform and depth bias), for FragCoord.z.
    pub z: [f32; 3],
    /// Integer framebuffer position to which x and y above are relative (keeps the planes exact far
    /// from 0).
    pub origin: [i32; 2],
    /// Bits of f32 as `[slot][3]`, with slots in the fragment interface's input order; four bytes
    /// after the last row are readable.
    pub attributes: *const [u32; 3],
    /// Non-zero if the primitive is front-facing.
    pub front_facing: u32,
    /// Value of `PrimitiveId`.
    pub primitive_id: u32,
    /// Value of `Layer`.
    pub layer: u32,
    /// Value of `ViewportIndex`.
    pub viewport_index: u32,
    /// Framebuffer position of the upper left corner of a point's sprite; PointCoord = (frag -
    /// upper left) * inv_size.
    pub point_origin: [f32; 2],
    /// Reciprocal of a point's size; 0 for other primitives.
    pub point_inv_size: f32,
    /// Non-zero if 1/w is 1 at all vertices, so that the perspective-correct barycentrics are the
    /// linear ones, bit for bit.
    pub affine: u32,
}

/// One quad (2×2 pixels). The order of lanes in the quad is (0,0), (1,0), (0,1), (1,1).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FragmentQuad {
    /// Horizontal framebuffer position of lane 0; even.
    pub x: u16,
    /// Vertical framebuffer position of lane 0; even.
    pub y: u16,
    /// Sample coverage of the four pixels, with 4 bits of samples per pixel: pixel p's sample s is
    /// bit `4*p + s`. With one sample, only bits 0, 4, 8 and 12 occur. A pixel with no bit is a
    /// helper invocation. With more than four samples, this is the union of the quad's groups
    /// ([`SampleGroups`]).
    pub coverage: u16,
    /// Sample that this invocation shades (sample shading has one quad entry per sample), or
    /// [`FragmentBatch::CENTRE`] plus the size of the fragments (`ShadingRateKHR`), which is 0 for
    /// one pixel. Fragments of several pixels are the "pixels" of their quad, which is aligned to
    /// its size, and their coverage has only the first bit.
    pub sample: u16,
    /// The primitive.
    pub primitive: *const FragmentPrimitive,
}

/// Coverage of a quad by samples in groups of four: bit `4*p + s` of group g is pixel p's sample
/// `4*g + s`.
pub type SampleGroups = [u16; MAX_SAMPLES / 4];

/// Positions of samples, after them, up to [`FragmentBatch::CENTRE`], of the pixel centres, and
/// from there on of the centres of fragments by their size.
pub type SamplePositions = [QuadPositions; MAX_SAMPLES + FRAGMENT_SIZES];

/// Number of values of `ShadingRateKHR` up to the largest size of a fragment, four by four pixels.
/// The word has the base-2 logarithms of the width, in bits 2 and 3, and of the height.
const FRAGMENT_SIZES: usize = (MAX_FRAGMENT_SIZE_LOG2 << 2 | MAX_FRAGMENT_SIZE_LOG2) as usize + 1;

/// Quads of a tile.
#[repr(C)]
pub struct FragmentBatch {
    /// Common head of all batches.
    pub header: BatchHeader,
    /// Number of quads, at most [`FragmentBatch::MAX_QUADS`]; there are 4 × quads lanes and
    /// ceil(4*count / lanes) chunks. Entries after `count`, up to a whole chunk and to a multiple
    /// of [`FragmentBatch::PADDING`], repeat a valid quad with coverage 0.
    pub count: u32,
    /// Rasterization samples of the pipeline: 1, 2, 4, 8 or 16.
    pub samples: u32,
    /// The quads: `count` entries, padded.
    pub quads: *const FragmentQuad,
    /// Outputs, as `[chunk][output slot][lane]`.
    pub outputs: *mut u32,
    /// Output, one u32 per chunk, or two per chunk of 64 lanes: a bit per lane, set if the
    /// invocation is still alive (not killed, not demoted). Bits of helper lanes may be set or not.
    pub alive: *mut u32,
    /// Positions of invocations, by `FragmentQuad::sample`.
    pub positions: *const SamplePositions,
    /// Coverage by quad, padded as the quads are, of more than four samples; zeros
    /// ([`FragmentBatch::NO_GROUPS`]) for fewer.
    pub groups: *const SampleGroups,
    /// Pixels that the primitive contains, a bit each, by quad, padded as the quads are. Only a
    /// stage that reads FullyCoveredEXT reads them.
    pub contained: *const u16,
    /// Positions of `Centroid` inputs relative to the corner of each fragment, by quad, padded as
    /// the quads are, if fragments have several pixels and the stage reads such inputs; null if
    /// not.
    pub centroids: *const QuadPositions,
}

/// Pixels of a primitive that is [affine](FragmentPrimitive::affine): all from (x0, y0) to before
/// (x1, y1), which are at least the lanes of a chunk apart in x.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Rectangle {
    /// First column.
    pub x0: u16,
    /// First row.
    pub y0: u16,
    /// Column after the last one.
    pub x1: u16,
    /// Row after the last one.
    pub y1: u16,
    /// The primitive.
    pub primitive: *const FragmentPrimitive,
}

/// Largest number of lanes of a chunk of a stage that takes rectangles.
pub const RECTANGLE_LANES: usize = 16;

/// Rectangles of a tile, for a fragment stage that writes colours itself ([`crate::epilogue`]): one
/// sample, no tests, texels of four bytes. They are processed in order.
#[repr(C)]
pub struct RectangleBatch {
    /// Common head of all batches.
    pub header: BatchHeader,
    /// Number of rectangles.
    pub count: u32,
    /// End of the columns, at least [`RECTANGLE_LANES`], that may be read and written back
    /// unchanged.
    pub end: u32,
    /// The rectangles.
    pub rectangles: *const Rectangle,
    /// Address at which the texel (0, 0) would be.
    pub target: *mut u8,
    /// Number of bytes between rows.
    pub pitch: u64,
}

/// Positions in the four pixels, or larger fragments, of a quad, relative to the corner of its
/// first pixel.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuadPositions {
    /// Horizontal positions by lane.
    pub x: [f32; 4],
    /// Vertical positions by lane.
    pub y: [f32; 4],
}

/// Encodes an input of [`Helper::Interpolate`](super::Helper::Interpolate): its slot, and whether
/// with perspective.
pub const fn interpolated(slot: u32, perspective: bool) -> u32 {
    slot << 1 | perspective as u32
}

impl FragmentBatch {
    /// Value of `FragmentQuad::sample` if a fragment is a pixel.
    pub const CENTRE: u16 = MAX_SAMPLES as u16;

    /// Largest number of quads of a batch.
    pub const MAX_QUADS: usize = 64;

    /// Number of quads to which batches are padded even if the stage has fewer lanes: those of a
    /// vector of 512 bits.
    pub const PADDING: usize = 4;

    /// The value of `groups` for at most four samples: for a batch and the padding of its last
    /// chunk.
    pub const NO_GROUPS: &[SampleGroups; Self::MAX_QUADS + 16] = &[[0; MAX_SAMPLES / 4]; Self::MAX_QUADS + 16];

    /// Returns `positions` for samples at (x, y) in 0..1 inside of each pixel.
    pub const fn positions(samples: &[[f32; 2]]) -> SamplePositions {
        let mut positions = [QuadPositions::new([0.5, 0.5], [1.0; 2]); MAX_SAMPLES + FRAGMENT_SIZES];
        let mut i = 0;
        while i < samples.len() && i < Self::CENTRE as usize {
            positions[i] = QuadPositions::new(samples[i], [1.0; 2]);
            i += 1;
        }
        let mut size = 0;
        while size < FRAGMENT_SIZES {
            let (width, height) = ((1 << (size >> 2)) as f32, (1 << (size & 3)) as f32);
            positions[Self::CENTRE as usize + size] = QuadPositions::new([width / 2.0, height / 2.0], [width, height]);
            size += 1;
        }
        positions
    }
}

impl QuadPositions {
    /// Makes the positions at (x, y) inside of each fragment of a quad.
    const fn new([x, y]: [f32; 2], [width, height]: [f32; 2]) -> QuadPositions {
        QuadPositions { x: [x, x + width, x, x + width], y: [y, y, y + height, y + height] }
    }
}

/// Workgroups of a dispatch, one after the other. Generated code loops over them and their chunks,
/// and leaves when the abort flag is set.
#[repr(C)]
pub struct ComputeBatch {
    /// Common head of all batches; `scratch` is large enough for every chunk of the workgroup.
    pub header: BatchHeader,
    /// Offset that is added to a workgroup's position to make its `WorkgroupId`.
    pub base: [u32; 3],
    /// Number of workgroups per row, and of rows per slice.
    pub groups: [u32; 2],
    /// Position of the first workgroup.
    pub first: [u32; 3],
    /// Number of workgroups, along rows; at least one.
    pub count: u32,
    #[doc(hidden)]
    pub _pad: u32,
    /// Workgroup (shared) memory, `WorkgroupInfo::shared_bytes` long, aligned to 64 bytes.
    pub shared: *mut u8,
}

/// Invocations of a stage with frames ([`FrameInfo`]), which all begin, or all continue behind one
/// point. The invocations of a batch need not have run together before.
///
/// [`FrameInfo`]: crate::shader::FrameInfo
#[repr(C)]
pub struct InvocationBatch {
    /// Common head of all batches.
    pub header: BatchHeader,
    /// Number of invocations; the number of chunks is ceil(count / lanes). Invocations that fill
    /// the last chunk repeat valid ones, and their results are ignored.
    pub count: u32,
    /// Number of the point behind which the invocations continue; 0 if they begin.
    pub point: u32,
    /// Byte offsets into `memory` of the frames ([`FrameInfo::offset`]), `[chunk][lane]`.
    ///
    /// [`FrameInfo::offset`]: crate::shader::FrameInfo::offset
    pub frames: *const u32,
    /// The frames, at least one group and less than 2 GiB.
    pub memory: *mut u8,
    /// Output, `[chunk][lane]`: how the call ended ([`InvocationEnd`]). The words are undefined if
    /// the abort flag is set.
    ///
    /// [`InvocationEnd`]: crate::shader::InvocationEnd
    pub ends: *mut u32,
}

macro_rules! batches {
    ($($(#[$doc:meta])* $kind:ident = $batch:ident;)*) => {
        /// The kinds of batches on which calls of stages work.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum BatchKind {
            $($(#[$doc])* $kind,)*
        }

        impl BatchKind {
            /// All kinds of batches.
            pub const ALL: &[BatchKind] = &[$(BatchKind::$kind),*];

            /// Returns the hash of the batch's [`Layout`].
            pub const fn layout(self) -> u64 {
                match self {
                    $(BatchKind::$kind => $batch::HASH,)*
                }
            }
        }
    };
}

batches! {
    /// A [`VertexBatch`].
    Vertices = VertexBatch;
    /// A [`ControlBatch`].
    Patches = ControlBatch;
    /// An [`EvaluationBatch`].
    Domain = EvaluationBatch;
    /// A [`PrimitiveBatch`].
    Primitives = PrimitiveBatch;
    /// A [`MeshBatch`].
    Mesh = MeshBatch;
    /// A [`FragmentBatch`].
    Quads = FragmentBatch;
    /// A [`ComputeBatch`].
    Workgroup = ComputeBatch;
    /// An [`InvocationBatch`].
    Invocations = InvocationBatch;
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
layout!(ControlBatch { groups, patch_vertices, _pad, inputs, sources, vertices, primitive_id });
layout!(MeshBatch { groups, num_workgroups, _pad });
layout!(EvaluationBatch {
    header,
    count,
    patch_vertices,
    inputs,
    sources,
    patches,
    coordinates,
    primitive_id,
    outputs
});
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
layout!(FragmentBatch { header, count, samples, quads, outputs, alive, positions, groups, contained, centroids });
layout!(QuadPositions { x, y });
layout!(Rectangle { x0, y0, x1, y1, primitive });
layout!(RectangleBatch { header, count, end, rectangles, target, pitch });
layout!(ComputeBatch { header, base, groups, first, count, _pad, shared });
layout!(InvocationBatch { header, count, point, frames, memory, ends });
