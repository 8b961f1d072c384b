//! Image views and samplers as generated code and sampling kernels use them, and the argument block
//! of a kernel call.
//!
//! A kernel is chosen when the view (and the sampler) is created, never per texel: generated code
//! loads `view.kernels[sampler.class]` (sampling) or `view.kernels[KERNEL_*]` and calls it with a
//! filled [`ImageArgs`].

use super::MAX_LANES;
use super::layout::layout;
use crate::limits::MAX_LEVELS;
use crate::text::FromText;
use core::mem::MaybeUninit;

/// Image dimensionality as in SPIR-V's `Dim`; whether the image is arrayed is separate.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dim {
    /// One dimension.
    D1 = 0,
    /// Two dimensions.
    D2 = 1,
    /// Three dimensions.
    D3 = 2,
    /// Cube, with six layers per set of faces.
    Cube = 3,
    /// Texel buffer.
    Buffer = 4,
}

/// A kernel, which reads and writes `args` for the lanes in `args.mask`. `sampler` is null for
/// operations without one. A kernel never faults, because it checks or clamps coordinates, levels
/// and sample indices.
pub type ImageKernel =
    crate::code_type!(unsafe extern "code" fn(view: *const ImageView, sampler: *const Sampler, args: *mut ImageArgs));

/// A sample of class `sampler.class` whose first four lanes use one view and whose other lanes use
/// another one, if both views have this function. It either samples and sets `done`, or does
/// nothing. Otherwise it is like an [`ImageKernel`].
pub type PairKernel = crate::code_type!(
    unsafe extern "code" fn(
        views: *const [*const ImageView; 2],
        sampler: *const Sampler,
        args: *mut ImageArgs,
        done: *mut bool,
    )
);

/// A kernel for plain samples of two coordinates by `chunks` chunks
/// ([`super::HelperTable::sample_chunks`]), each sampled as by the [`ImageKernel`] of
/// `sampler.class`.
pub type ChunksKernel = crate::code_type!(
    unsafe extern "code" fn(
        view: *const ImageView,
        sampler: *const Sampler,
        args: *mut ImageArgs,
        coords: *const f32,
        results: *mut u32,
        chunks: u32,
    )
);

/// Largest number of texels of a lane that one sample of one level reads: the eight corners of a
/// cube.
pub const TAPS: usize = 8;

/// The places of the texels that a sample reads in every lane, and their components: the argument
/// of a [`TapsKernel`].
#[repr(C, align(32))]
pub struct Taps {
    /// Column and row of each texel.
    pub at: [MaybeUninit<[[u32; MAX_LANES]; 2]>; TAPS],
    /// The components of each texel, as a sample without a filter gives them before the view's
    /// mapping.
    pub texels: [MaybeUninit<[[u32; MAX_LANES]; 4]>; TAPS],
    /// Number of bytes from `ImageView::base` to the first texel of the slice that contains all
    /// texels.
    pub offset: u64,
    /// Number of bytes between rows (of blocks) of the slice.
    pub pitch: u32,
    /// Width and height of the slice in texels.
    pub size: [u32; 2],
    /// The lanes whose texels are read, one bit each. Places of the other lanes lie inside of the
    /// slice too.
    pub mask: u32,
    /// The kernel sets a bit for every component that is not the same in all texels of the format.
    pub varying: u32,
}

/// A kernel that reads `count` texels of all lanes of a [`Taps`], from number `first` on.
pub type TapsKernel =
    crate::code_type!(unsafe extern "code" fn(view: *const ImageView, taps: *mut Taps, first: u32, count: u32));

/// Kernel of `OpImageFetch`, `OpImageRead` and subpass loads: integer coordinates in `args.icoord`
/// → `args.result` (and `args.result_high` for 64-bit integers). Out-of-bounds reads give 0 in
/// every component (after swizzle: 0,0,0,0).
pub const KERNEL_FETCH: usize = 0;
/// Kernel of `OpImageWrite`: `args.texel` → image. Out-of-bounds writes are dropped.
pub const KERNEL_STORE: usize = 1;
/// Kernel of image atomics: `args.atomic_op` on `args.texel[0]` (and comparator `args.texel[1]`) →
/// old value in `args.result[0]`.
pub const KERNEL_ATOMIC: usize = 2;
/// Kernel that sets `args.result[0]` to 1 if all texels that a fetch (without a sampler) or a
/// sample with the same arguments accesses are bound to memory, and to 0 otherwise. Its `args.op`
/// is [`SampleOp::Resident`] or [`SampleOp::ResidentGather`].
pub const KERNEL_RESIDENT: usize = 3;
/// The first sampling kernel; a sampler's kernel is `KERNEL_SAMPLE + sampler.class`.
pub const KERNEL_SAMPLE: usize = 4;
/// Number of sampler classes (see [`Sampler::class`]).
pub const SAMPLER_CLASSES: usize = 8;
/// Number of kernels per view.
pub const KERNEL_COUNT: usize = KERNEL_SAMPLE + SAMPLER_CLASSES;

/// One mip level of a view.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ImageLevel {
    /// Byte offset from `ImageView::base` to the first texel of the view's first layer.
    pub offset: u64,
    /// Number of bytes between rows of blocks; in a level that is cut into cells
    /// ([`crate::image::SparseGrid`]), inside of one cell.
    pub row_pitch: u64,
    /// Number of bytes between depth slices of a 3D image, inside of a cell if there are cells;
    /// unused for other images.
    pub slice_pitch: u64,
    /// Width in texels.
    pub width: u32,
    /// Height in texels.
    pub height: u32,
    /// Depth in texels of a 3D image; 1 for other images.
    pub depth: u32,
    /// Number of the first depth slice in a level that is cut into cells; in other levels `offset`
    /// includes it.
    pub first_slice: u32,
    /// Logarithms of a cell's blocks per row, rows and slices, in one byte each, and 1 in the
    /// fourth byte; 0 if the level is in one piece.
    pub cell: u32,
    /// Number of cells per row, and of rows of cells in a slice of cells; the third element is
    /// unused.
    pub cells: [u32; 3],
}

/// The kind of texels that generated code reads and writes itself ([`TexelRows`]): their layout in
/// memory and their conversion.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromText)]
pub enum TexelKind {
    /// No kind that generated code knows, so that kernels access the texels.
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

/// The first level of a view as rows of texels, for generated code. For coordinates below the
/// extents, a read gives what [`KERNEL_FETCH`] gives at level 0, and a write goes where
/// [`KERNEL_STORE`] writes. The rest of the view, and all accesses outside, are left to kernels.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TexelRows {
    /// Address of the first texel.
    pub base: *mut u8,
    /// Number of bytes between depth slices, layers or faces, which the coordinate after that of
    /// the rows counts.
    pub slice_pitch: u64,
    /// Number of bytes between rows; for a one-dimensional array, between layers. All rows of a
    /// slice have less than 2^32 bytes.
    pub row_pitch: u32,
    /// Kind of the texels. If it is `None`, no other field has a meaning.
    pub kind: TexelKind,
    /// Number of texels of a row, below 2^31.
    pub width: u32,
    /// Number of rows, below 2^31.
    pub height: u32,
    /// Number of slices.
    pub slices: u32,
    /// Number of texels of a row at which eight texels can begin: `width - 7`, or 0.
    pub eights: u32,
}

impl TexelRows {
    /// The rows of a view that only kernels access.
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
    /// Rows that generated code accesses without kernels.
    pub rows: TexelRows,
    /// Kernels, indexed by `KERNEL_*`. All entries are valid functions.
    pub kernels: [ImageKernel; KERNEL_COUNT],
    /// Kernel that samples this view and another one with the same function.
    pub pair: PairKernel,
    /// Kernel for plain samples of many chunks.
    pub chunks: ChunksKernel,
    /// Kernel that reads texels of the view's format.
    pub taps: TapsKernel,
    /// Image memory, of which at least 16 bytes are readable even for a null view.
    pub base: *mut u8,
    /// Number of bytes from `base` to the end of the image; kernels never access bytes after it.
    pub size: u64,
    /// Number of bytes between array layers.
    pub layer_stride: u64,
    /// Number of bytes between samples of a multisampled image: sample `s` of a texel lies at `s *
    /// sample_stride` from sample 0.
    pub sample_stride: u64,
    /// The format (`base::format::Format`) as an index of the format table.
    pub format: u32,
    /// Dimensionality: 1D, 2D, 3D, cube or texel buffer.
    pub dim: Dim,
    /// Equal to 1 for arrayed views, else 0.
    pub arrayed: u32,
    /// Number of levels in the view; `level[0]` is the view's base level.
    pub levels: u32,
    /// Number of layers in the view (6 × cubes for cube views).
    pub layers: u32,
    /// Number of samples per texel; 0 for a null view.
    pub samples: u32,
    /// Component swizzle: for each of r, g, b, a the source, which is 0..=3 for a channel, 4 for
    /// zero, 5 for one.
    pub swizzle: [u8; 4],
    /// Aspect of depth/stencil formats: 0 for colour or depth, 1 for stencil.
    pub stencil_aspect: u32,
    /// Lower bound of the level of detail (`VK_EXT_image_view_min_lod`); 0.0 without.
    pub min_lod: f32,
    /// Number of texels of a buffer view (`dim == Buffer`), else 0.
    pub texels: u32,
    /// Bits of alpha of a texel outside: those of 1 if the format has no alpha, else 0. The other
    /// components are 0.
    pub outside_alpha: u32,
    /// One byte per 64 KiB of addresses, from those that contain `base` on, which is 0 if a sparse
    /// resource has no memory there. Null if all of the view has memory.
    pub residency: *const u8,
    /// Kernels for single texels that the view would have if its levels were in one piece; the
    /// views of cells use them.
    pub of_piece: [ImageKernel; KERNEL_SAMPLE],
    /// State for the kernels of a view with a sampler Y'CbCr conversion (`texture`);
    /// null for other views.
    pub conversion: *const u8,
    /// Levels, of which the first `levels` are the view's.
    pub level: [ImageLevel; MAX_LEVELS],
}

// SAFETY: the image's memory outlives the view, which Vulkan requires and the icd ensures; fields
// never change.
unsafe impl Send for ImageView {}
// SAFETY: the image's memory outlives the view, which Vulkan requires and the icd ensures; fields
// never change.
unsafe impl Sync for ImageView {}

/// A sampler. Immutable once created.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampler {
    /// Kernel class, `< SAMPLER_CLASSES`; assigned by `texture` when the sampler is
    /// created.
    pub class: u32,
    /// Magnification filter (`VkFilter`): 0 nearest, 1 linear.
    pub mag_filter: u32,
    /// Minification filter (`VkFilter`): 0 nearest, 1 linear.
    pub min_filter: u32,
    /// Mipmap mode (`VkSamplerMipmapMode`): 0 nearest, 1 linear.
    pub mipmap_mode: u32,
    /// Address modes of u, v and w (`VkSamplerAddressMode`).
    pub address_mode: [u32; 3],
    /// Bias of the level of detail (`mipLodBias`).
    pub lod_bias: f32,
    /// Lower bound of the level of detail (`minLod`).
    pub min_lod: f32,
    /// Upper bound of the level of detail (`maxLod`).
    pub max_lod: f32,
    /// Largest anisotropy (`maxAnisotropy`); 1.0 if anisotropy is disabled.
    pub max_anisotropy: f32,
    /// Equal to 1 if `compareEnable` is set, else 0.
    pub compare_enable: u32,
    /// Comparison (`VkCompareOp`).
    pub compare_op: u32,
    /// Border colour as float or integer bits, according to `border_is_int`.
    pub border_color: [u32; 4],
    /// Equal to 1 if the border colour is an integer one, else 0.
    pub border_is_int: u32,
    /// Equal to 1 if `unnormalizedCoordinates` is set, else 0.
    pub unnormalized: u32,
    /// Reduction mode (`VkSamplerReductionMode`): 0 weighted average, 1 min, 2 max.
    pub reduction: u32,
    /// Equal to 1 if a cube's faces are filtered as separate images
    /// (`VK_SAMPLER_CREATE_NON_SEAMLESS_CUBE_MAP_BIT_EXT`), else 0.
    pub non_seamless: u32,
}

/// The source of the level of detail of a sampling operation.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromText)]
pub enum LodMode {
    /// The differences of `coord` inside each group of four lanes (a quad), with `args.lod` as
    /// bias.
    Implicit = 0,
    /// The value `args.lod`, before the sampler's bias and clamp.
    Explicit = 1,
    /// The derivatives `args.grad_x` and `args.grad_y`.
    Grad = 2,
}

/// The operation of a sampling kernel on the footprint.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromText)]
pub enum SampleOp {
    /// Filtered sample of four components.
    Sample = 0,
    /// Filtered depth comparison in `result[0]`.
    SampleDref = 1,
    /// Component `args.component` of the four texels of the 2×2 footprint at level 0 (the base
    /// level).
    Gather = 2,
    /// Gather of comparison results.
    GatherDref = 3,
    /// The accessed level in `result[0]` and lambda' in `result[1]` (`OpImageQueryLod`).
    QueryLod = 4,
    /// Residency in `result[0]`: 1 if all texels of a [`SampleOp::Sample`] are bound to memory,
    /// else 0 ([`KERNEL_RESIDENT`]).
    Resident = 5,
    /// Residency in `result[0]`: 1 if all texels of a [`SampleOp::Gather`] are bound to memory,
    /// else 0.
    ResidentGather = 6,
}

/// Atomic operations on images, buffers and shared memory.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, FromText)]
pub enum AtomicOp {
    /// Stores the new value.
    Exchange = 0,
    /// Stores the new value if the old value equals the comparator.
    CompareExchange = 1,
    /// Wrapping addition.
    Add = 2,
    /// Wrapping subtraction.
    Sub = 3,
    /// Signed minimum.
    SMin = 4,
    /// Unsigned minimum.
    UMin = 5,
    /// Signed maximum.
    SMax = 6,
    /// Unsigned maximum.
    UMax = 7,
    /// Bitwise and.
    And = 8,
    /// Bitwise or.
    Or = 9,
    /// Bitwise exclusive or.
    Xor = 10,
    /// Load; the value operand is ignored.
    Load = 11,
    /// Store, which has no result.
    Store = 12,
    /// IEEE addition (VK_EXT_shader_atomic_float).
    FAdd = 13,
    /// IEEE minimum.
    FMin = 14,
    /// IEEE maximum.
    FMax = 15,
}

/// Argument block of a kernel call, as a structure of arrays over lanes. A kernel does not read
/// fields that its operation does not use.
#[repr(C, align(32))]
#[derive(Clone, Copy, Debug)]
pub struct ImageArgs {
    /// Floating-point coordinates: s, t, r or layer, layer of a cube array. For 1D arrays the layer
    /// is `coord[1]`, for 2D arrays `coord[2]`. For cubes (x, y, z) is the direction and `coord[3]`
    /// the layer. The caller has already done the projective divide.
    pub coord: [[f32; MAX_LANES]; 4],
    /// Comparison reference.
    pub dref: [f32; MAX_LANES],
    /// Bias or level of detail, according to `lod_mode`; for fetches the bits of the integer level.
    pub lod: [f32; MAX_LANES],
    /// Lower bound of the level of detail (MinLod image operand); 0 without.
    pub min_lod: [f32; MAX_LANES],
    /// Derivatives in x.
    pub grad_x: [[f32; MAX_LANES]; 3],
    /// Derivatives in y.
    pub grad_y: [[f32; MAX_LANES]; 3],
    /// Texel offsets (ConstOffset, Offset); 0 without.
    pub offset: [[i32; MAX_LANES]; 3],
    /// Offsets of a gather (ConstOffsets): four (x, y) pairs as [2*i], [2*i+1]; read if
    /// `has_gather_offsets` is set.
    pub gather_offsets: [i32; 8],
    /// Integer coordinates of fetch, store and atomic (x, y, z-or-layer; a cube's layer counts
    /// faces).
    pub icoord: [[i32; MAX_LANES]; 3],
    /// Integer level of detail of a fetch; 0 for storage images.
    pub level: [i32; MAX_LANES],
    /// Sample index of a multisampled fetch, read, write or atomic; 0 otherwise.
    pub sample: [i32; MAX_LANES],
    /// Texel to store (bits of float or integer, by the format's class), or operands of an atomic.
    pub texel: [[u32; MAX_LANES]; 4],
    /// Result: bits of float (float, normalised, depth formats) or integer (integer formats,
    /// stencil).
    pub result: [[u32; MAX_LANES]; 4],
    /// Active lanes, one bit per lane. Results of inactive lanes are unspecified; their coordinates
    /// may be read for derivatives.
    pub mask: u32,
    /// Kernel index of the operation for the divergent helper: `KERNEL_FETCH`/`STORE`/`ATOMIC`, or
    /// `KERNEL_SAMPLE` (to which the helper adds the sampler's class).
    pub kernel: u32,
    /// Operation of a sampling kernel.
    pub op: SampleOp,
    /// Source of the level of detail.
    pub lod_mode: LodMode,
    /// Component of a gather, 0..=3.
    pub component: u32,
    /// Equal to 1 if `gather_offsets` is used, else 0.
    pub has_gather_offsets: u32,
    /// Operation of an image atomic.
    pub atomic_op: AtomicOp,
    /// Equal to 0 if all texel offsets of a sample are 0.
    pub has_offset: u32,
    /// High words of `texel`, if components or operands are 64-bit integers.
    pub texel_high: [[u32; MAX_LANES]; 4],
    /// High words of `result`, if components are 64-bit integers.
    pub result_high: [[u32; MAX_LANES]; 4],
    /// Number of lanes of the rows of [`Helper::SampleChunks`](super::Helper::SampleChunks):
    /// [`MAX_LANES`], or twice as many.
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
