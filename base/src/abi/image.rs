//! Image views and samplers as generated code and sampling kernels see them, and the argument block of a kernel call.
//!
//! A kernel is chosen when the view (and sampler) is created, never per texel: generated code loads
//! `view.kernels[sampler.class]` (sampling) or `view.kernels[KERNEL_*]` and calls it with a filled [`ImageArgs`].

use super::MAX_LANES;
use super::layout::layout;

/// Image dimensionality as SPIR-V's `Dim` sees it (arrayed-ness apart).
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dim {
    /// 1D
    D1 = 0,
    /// 2D
    D2 = 1,
    /// 3D
    D3 = 2,
    /// Cube: six layers per face set
    Cube = 3,
    /// Texel buffer
    Buffer = 4,
}

/// A kernel: reads and writes `args` for the lanes in `args.mask`. `sampler` is null for operations without one.
/// Never faults: coordinates, levels and sample indices are checked or clamped inside.
pub type ImageKernel = unsafe extern "C" fn(view: *const ImageView, sampler: *const Sampler, args: *mut ImageArgs);

/// A sample of class `sampler.class` whose first four lanes see one view and whose others see another one, both with this same function; sets `done`, or does
/// nothing. Otherwise as an [`ImageKernel`].
pub type PairKernel = unsafe extern "C" fn(
    views: *const [*const ImageView; 2],
    sampler: *const Sampler,
    args: *mut ImageArgs,
    done: *mut bool,
);

/// Plain samples of two coordinates by `chunks` chunks ([`super::HelperTable::sample_chunks`]), each as by the [`ImageKernel`] of `sampler.class`.
pub type ChunksKernel = unsafe extern "C" fn(
    view: *const ImageView,
    sampler: *const Sampler,
    args: *mut ImageArgs,
    coords: *const f32,
    results: *mut u32,
    chunks: u32,
);

/// Most texels of a lane that one sample of one level reads: the corners of a cube of eight.
pub const TAPS: usize = 8;

/// The places of the texels that a sample reads in every lane, and their components: the argument of a [`TapsKernel`].
#[repr(C, align(32))]
pub struct Taps {
    /// Column and row of each texel.
    pub at: [[[u32; MAX_LANES]; 2]; TAPS],
    /// The components of each texel, as a sample without a filter gives them before the view's mapping.
    pub texels: [[[u32; MAX_LANES]; 4]; TAPS],
    /// The first texel of the slice that has all of them.
    pub base: *mut u8,
    /// Bytes between the rows (of blocks) of the slice.
    pub pitch: u32,
    /// Width and height of the slice in texels.
    pub size: [u32; 2],
    /// The lanes whose texels are read, one bit each. Places of the other lanes lie inside of the slice too.
    pub mask: u32,
    /// The kernel sets a bit for every component that is not the same in all texels of the format.
    pub varying: u32,
}

/// Reads the texels from number `first` on, `count` of them, of all lanes of a [`Taps`].
pub type TapsKernel = unsafe extern "C" fn(view: *const ImageView, taps: *mut Taps, first: u32, count: u32);

/// `OpImageFetch`, `OpImageRead`, subpass loads: integer coordinates in `args.icoord` → `args.result` (and `args.result_high`, of integers of 64 bits).
/// Out of bounds reads give 0 in every component (after swizzle: 0,0,0,0).
pub const KERNEL_FETCH: usize = 0;
/// `OpImageWrite`: `args.texel` → image. Out of bounds writes are dropped.
pub const KERNEL_STORE: usize = 1;
/// Image atomics: `args.atomic_op` on `args.texel[0]` (and comparator `args.texel[1]`) → old value in `args.result[0]`.
pub const KERNEL_ATOMIC: usize = 2;
/// `args.result[0]`: 1 where all texels that a fetch (without a sampler) or a sample of the same arguments accesses are bound to memory, else 0. Its `args.op` is
/// [`SampleOp::Resident`] or [`SampleOp::ResidentGather`].
pub const KERNEL_RESIDENT: usize = 3;
/// First sampling kernel; `KERNEL_SAMPLE + sampler.class`.
pub const KERNEL_SAMPLE: usize = 4;
/// Number of sampler classes (see [`Sampler::class`]).
pub const SAMPLER_CLASSES: usize = 8;
/// Kernels per view.
pub const KERNEL_COUNT: usize = KERNEL_SAMPLE + SAMPLER_CLASSES;

/// Most mip levels of an image (16384 → 15).
pub const MAX_LEVELS: usize = 15;

/// One mip level of a view.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ImageLevel {
    /// Bytes from `ImageView::base` to the first texel (of the view's first layer).
    pub offset: u64,
    /// Bytes between rows of blocks; of a level that is cut into cells ([`crate::image::Grid`]), inside of one.
    pub row_pitch: u64,
    /// Bytes between depth slices (3D); for other images unused. Inside of a cell, if there are any.
    pub slice_pitch: u64,
    /// In texels.
    pub width: u32,
    /// In texels.
    pub height: u32,
    /// Texels (3D), else 1.
    pub depth: u32,
    /// The first slice, of a level that is cut into cells; of others `offset` says it.
    pub first_slice: u32,
    /// Blocks per row, rows and slices of a cell, as logarithms in a byte each, and 1 in the fourth; 0: the level is in one piece.
    pub cell: u32,
    /// Cells per row, and rows of cells in a slice of cells; then unused.
    pub cells: [u32; 3],
}

/// What the texels are that generated code reads and writes itself ([`TexelRows`]): how they lie in memory, and what becomes of them.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TexelKind {
    /// None that it knows: kernels do.
    None = 0,
    /// Four unsigned normalised bytes, red first.
    Unorm8 = 1,
    /// A binary32 number; green and blue are 0, alpha is 1.
    Float = 2,
    /// An integer of 32 bits; green and blue are 0, alpha is 1.
    Word = 3,
    /// Four words as they are: binary32 numbers or integers.
    Words = 4,
}

/// The first level of a view as rows of texels, for generated code: what [`KERNEL_FETCH`] gives at level 0, and where [`KERNEL_STORE`] writes, for
/// coordinates that are below the extents. What else there is of the view, and all that lies outside, kernels know.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TexelRows {
    /// The first texel.
    pub base: *mut u8,
    /// Bytes between depth slices, layers or faces: what the coordinate after the rows' counts.
    pub slice_pitch: u64,
    /// Bytes between rows (of a one-dimensional array: layers). All rows of a slice have less than 2^32 bytes.
    pub row_pitch: u32,
    /// What they are. With `None` nothing else has a meaning.
    pub kind: TexelKind,
    /// Texels of a row, below 2^31.
    pub width: u32,
    /// Rows, below 2^31.
    pub height: u32,
    /// Slices.
    pub slices: u32,
    /// Texels of a row at which eight begin: `width - 7`, or 0.
    pub eights: u32,
}

impl TexelRows {
    /// Of a view that kernels alone know.
    pub const NONE: TexelRows = TexelRows {
        base: core::ptr::null_mut(),
        slice_pitch: 0,
        row_pitch: 0,
        kind: TexelKind::None,
        width: 0,
        height: 0,
        slices: 0,
        eights: 0,
    };
}

/// A view with its kernels. Immutable once created.
#[repr(C)]
pub struct ImageView {
    /// What generated code does without them.
    pub rows: TexelRows,
    /// Indexed by `KERNEL_*`. All entries are valid functions.
    pub kernels: [ImageKernel; KERNEL_COUNT],
    /// Samples this view and another one with the same function.
    pub pair: PairKernel,
    /// Plain samples of many chunks.
    pub chunks: ChunksKernel,
    /// Reads texels of the view's format.
    pub taps: TapsKernel,
    /// Image memory; at least 16 readable bytes even for a null view.
    pub base: *mut u8,
    /// Bytes from `base` to the end of the image; kernels never go beyond.
    pub size: u64,
    /// Bytes between array layers.
    pub layer_stride: u64,
    /// Bytes between the samples of a multisampled image: sample `s` of a texel lies at `s * sample_stride` from sample 0.
    pub sample_stride: u64,
    /// `base::format::Format` as an index of the format table.
    pub format: u32,
    /// 1D, 2D, 3D or cube.
    pub dim: Dim,
    /// 1 for arrayed views.
    pub arrayed: u32,
    /// Levels in the view; `level[0]` is the view's base level.
    pub levels: u32,
    /// Layers in the view (6 × cubes for cube views).
    pub layers: u32,
    /// Samples per texel; 0 for a null view.
    pub samples: u32,
    /// Component swizzle: for r, g, b, a the source: 0..=3 channel, 4 zero, 5 one.
    pub swizzle: [u8; 4],
    /// For depth/stencil formats: 0 colour or depth aspect, 1 stencil aspect.
    pub stencil_aspect: u32,
    /// `VK_EXT_image_view_min_lod`; 0.0 without.
    pub min_lod: f32,
    /// Texel count of a buffer view (`dim == Buffer`), else 0.
    pub texels: u32,
    /// Bits of alpha of a texel outside: 1 where the format has none, else 0 (and the other components are 0).
    pub outside_alpha: u32,
    /// A byte per 64 KiB of addresses from the one that holds `base` on: 0 where a sparse resource has no memory. Null: all of it is there.
    pub residency: *const u8,
    /// The kernels that the view would have if its levels were in one piece, of those that see single texels: of the views of cells.
    pub of_piece: [ImageKernel; KERNEL_SAMPLE],
    /// What the kernels of a view with a sampler Y'CbCr conversion know of it (`rasterizer::sample`); null of others.
    pub conversion: *const u8,
    /// The first `levels` of them are the view's.
    pub level: [ImageLevel; MAX_LEVELS],
}

// SAFETY: the image's memory outlives the view (Vulkan's rule, upheld by the icd); fields never change.
unsafe impl Send for ImageView {}
// SAFETY: as above.
unsafe impl Sync for ImageView {}

/// A sampler. Immutable once created.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Sampler {
    /// Kernel class, `< SAMPLER_CLASSES`; assigned by `rasterizer::sample` when the sampler is created.
    pub class: u32,
    /// `VkFilter` 0 nearest, 1 linear.
    pub mag_filter: u32,
    /// `VkFilter`.
    pub min_filter: u32,
    /// `VkSamplerMipmapMode` 0 nearest, 1 linear.
    pub mipmap_mode: u32,
    /// `VkSamplerAddressMode` u, v, w.
    pub address_mode: [u32; 3],
    /// `mipLodBias`.
    pub lod_bias: f32,
    /// `minLod`, `maxLod`.
    pub min_lod: f32,
    /// See `min_lod`.
    pub max_lod: f32,
    /// `maxAnisotropy`, 1.0 when disabled.
    pub max_anisotropy: f32,
    /// 1 when compareEnable.
    pub compare_enable: u32,
    /// `VkCompareOp`.
    pub compare_op: u32,
    /// Border colour, as float or integer bits per `border_is_int`.
    pub border_color: [u32; 4],
    /// 1 when the border colour is an integer one.
    pub border_is_int: u32,
    /// 1 when unnormalizedCoordinates.
    pub unnormalized: u32,
    /// `VkSamplerReductionMode`: 0 weighted average, 1 min, 2 max.
    pub reduction: u32,
    /// 1 where a cube's faces are images of their own (`VK_SAMPLER_CREATE_NON_SEAMLESS_CUBE_MAP_BIT_EXT`).
    pub non_seamless: u32,
}

/// How the level of detail of a sampling operation is found.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LodMode {
    /// From the differences of `coord` inside each group of four lanes (a quad), plus `args.lod` as bias.
    Implicit = 0,
    /// `args.lod` is the level of detail (before the sampler's bias and clamp).
    Explicit = 1,
    /// From `args.grad_x` and `args.grad_y`.
    Grad = 2,
}

/// What a sampling kernel does with the footprint.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SampleOp {
    /// Filtered sample, four components.
    Sample = 0,
    /// Depth comparison, filtered: result[0].
    SampleDref = 1,
    /// Four texels of the 2×2 footprint at level 0 (base level), component `args.component`.
    Gather = 2,
    /// Gather of comparison results.
    GatherDref = 3,
    /// result[0] = level accessed, result[1] = lambda' (OpImageQueryLod).
    QueryLod = 4,
    /// result[0] = 1 where all texels of a [`SampleOp::Sample`] are bound to memory, else 0 ([`KERNEL_RESIDENT`]).
    Resident = 5,
    /// The same of a [`SampleOp::Gather`].
    ResidentGather = 6,
}

/// Atomic operations on images, buffers and shared memory.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtomicOp {
    /// New value stored.
    Exchange = 0,
    /// Stored where the old value equals the comparator.
    CompareExchange = 1,
    /// Wrapping add.
    Add = 2,
    /// Wrapping subtract.
    Sub = 3,
    /// Signed minimum.
    SMin = 4,
    /// Unsigned minimum.
    UMin = 5,
    /// Signed maximum.
    SMax = 6,
    /// Unsigned maximum.
    UMax = 7,
    /// Bitwise.
    And = 8,
    /// Bitwise.
    Or = 9,
    /// Bitwise.
    Xor = 10,
    /// Load (the value operand is ignored).
    Load = 11,
    /// Store (no result).
    Store = 12,
    /// IEEE add (VK_EXT_shader_atomic_float).
    FAdd = 13,
    /// IEEE minimum.
    FMin = 14,
    /// IEEE maximum.
    FMax = 15,
}

/// Argument block of a kernel call: structure of arrays over lanes. Fields an operation does not use are not read.
#[repr(C, align(32))]
#[derive(Clone, Copy, Debug)]
pub struct ImageArgs {
    /// Floating-point coordinates (s, t, r or layer, layer of a cube array). For 1D arrays the layer is `coord[1]`, for
    /// 2D arrays `coord[2]`, for cubes (x, y, z) is the direction and `coord[3]` the layer. A projective divide was done before.
    pub coord: [[f32; MAX_LANES]; 4],
    /// Comparison reference.
    pub dref: [f32; MAX_LANES],
    /// Bias or level of detail, by `lod_mode`; for fetches the integer level's bits.
    pub lod: [f32; MAX_LANES],
    /// Lower clamp of the level of detail (MinLod image operand); 0 when absent.
    pub min_lod: [f32; MAX_LANES],
    /// Derivatives in x.
    pub grad_x: [[f32; MAX_LANES]; 3],
    /// Derivatives in y.
    pub grad_y: [[f32; MAX_LANES]; 3],
    /// Texel offsets (ConstOffset, Offset); 0 when absent.
    pub offset: [[i32; MAX_LANES]; 3],
    /// ConstOffsets of a gather: four (x, y) pairs as [2*i], [2*i+1]; read when `has_gather_offsets`.
    pub gather_offsets: [i32; 8],
    /// Integer coordinates of fetch, store and atomic (x, y, z-or-layer; a cube's layer counts faces).
    pub icoord: [[i32; MAX_LANES]; 3],
    /// Integer level of detail of a fetch; 0 for storage images.
    pub level: [i32; MAX_LANES],
    /// Sample index of a multisampled fetch, read, write or atomic; 0 otherwise.
    pub sample: [i32; MAX_LANES],
    /// Texel to store (bits of float or integer by format class), or atomic operands.
    pub texel: [[u32; MAX_LANES]; 4],
    /// Result: bits of float (float, normalised, depth formats) or integer (integer formats, stencil).
    pub result: [[u32; MAX_LANES]; 4],
    /// Active lanes, bit per lane. Inactive lanes' results are unspecified; their coordinates may be read for derivatives.
    pub mask: u32,
    /// Kernel index the operation wants for the divergent helper: `KERNEL_FETCH`/`STORE`/`ATOMIC`, or `KERNEL_SAMPLE`
    /// (the sampler's class is added).
    pub kernel: u32,
    /// See [`SampleOp`].
    pub op: SampleOp,
    /// See [`LodMode`].
    pub lod_mode: LodMode,
    /// Component of a gather, 0..=3.
    pub component: u32,
    /// 1 when `gather_offsets` is used.
    pub has_gather_offsets: u32,
    /// See [`AtomicOp`].
    pub atomic_op: AtomicOp,
    /// 0 when all texel offsets of a sample are 0.
    pub has_offset: u32,
    /// The high words of `texel`, where components or operands are integers of 64 bits.
    pub texel_high: [[u32; MAX_LANES]; 4],
    /// The high words of `result`.
    pub result_high: [[u32; MAX_LANES]; 4],
    /// Lanes of the rows of [`Helper::SampleChunks`](super::Helper::SampleChunks): [`MAX_LANES`], or twice as many.
    pub row_lanes: u32,
}

layout!(ImageLevel { offset, row_pitch, slice_pitch, width, height, depth, first_slice, cell, cells });
layout!(TexelRows { base, slice_pitch, row_pitch, kind, width, height, slices, eights });
layout!(ImageView {
    rows,
    kernels,
    pair,
    chunks,
    taps,
    base,
    size,
    layer_stride,
    sample_stride,
    format,
    dim,
    arrayed,
    levels,
    layers,
    samples,
    swizzle,
    stencil_aspect,
    min_lod,
    texels,
    outside_alpha,
    residency,
    of_piece,
    conversion,
    level
});
layout!(Sampler {
    class,
    mag_filter,
    min_filter,
    mipmap_mode,
    address_mode,
    lod_bias,
    min_lod,
    max_lod,
    max_anisotropy,
    compare_enable,
    compare_op,
    border_color,
    border_is_int,
    unnormalized,
    reduction,
    non_seamless
});
layout!(ImageArgs {
    coord,
    dref,
    lod,
    min_lod,
    grad_x,
    grad_y,
    offset,
    gather_offsets,
    icoord,
    level,
    sample,
    texel,
    result,
    mask,
    kernel,
    op,
    lod_mode,
    component,
    has_gather_offsets,
    atomic_op,
    has_offset,
    texel_high,
    result_high,
    row_lanes
});
layout!(
    enum Dim {
        D1,
        D2,
        D3,
        Cube,
        Buffer,
    }
);
layout!(
    enum TexelKind {
        None,
        Unorm8,
        Float,
        Word,
        Words,
    }
);
layout!(
    enum LodMode {
        Implicit,
        Explicit,
        Grad,
    }
);
layout!(
    enum SampleOp {
        Sample,
        SampleDref,
        Gather,
        GatherDref,
        QueryLod,
        Resident,
        ResidentGather,
    }
);
layout!(
    enum AtomicOp {
        Exchange,
        CompareExchange,
        Add,
        Sub,
        SMin,
        UMin,
        SMax,
        UMax,
        And,
        Or,
        Xor,
        Load,
        Store,
        FAdd,
        FMin,
        FMax,
    }
);
