//! Descriptors: image views, texel buffer views and samplers, and the descriptors of slots that
//! were never written.

#![forbid(unsafe_code)]

use super::texel_rows::rows_of;
use super::{address, kernels, sampler_class};
use base::abi::{Dim, ImageLevel, ImageView, KERNEL_COUNT, KERNEL_RESIDENT, KERNEL_SAMPLE, Sampler, TexelRows};
use base::format::pack::ONE;
use base::format::{Aspect, Format};
use base::host::SimdLevel;
use base::image::PlaneLayout;
use base::limits::MAX_LEVELS;
use base::mem::{ImageMemory, MemoryRange};
use std::sync::OnceLock;

/// The parameters of an image view. Counts are resolved (no `VK_REMAINING_*`).
#[derive(Clone, Copy, Debug)]
pub struct ViewRequest<'a> {
    /// Image with its memory.
    pub memory: &'a ImageMemory,
    /// View format, which is compatible with the image's. A stencil view of a combined format names
    /// that format.
    pub format: Format,
    /// Dimensionality in the shader.
    pub dim: Dim,
    /// True for an array view.
    pub arrayed: bool,
    /// True if the layers are depth slices of a 3D image.
    pub slices: bool,
    /// First level and number of levels.
    pub levels: (u32, u32),
    /// First layer and number of layers.
    pub layers: (u32, u32),
    /// Aspect of the view.
    pub aspect: Aspect,
    /// Component swizzle: for each of r, g, b, a the source, which is 0..=3 for a channel, 4 for
    /// zero, 5 for one.
    pub swizzle: [u8; 4],
    /// Lower bound of the level of detail, relative to the view's base level; 0.0 without
    /// `VK_EXT_image_view_min_lod`.
    pub min_lod: f32,
}

/// Returns the address of 64 KiB of zeros to which null descriptors point. They are writable,
/// because a null descriptor guarantees writable bytes.
pub fn zero_page() -> *mut u8 {
    static PAGE: OnceLock<usize> = OnceLock::new();
    *PAGE.get_or_init(|| Box::leak(vec![0u128; 4096].into_boxed_slice()).as_mut_ptr() as usize) as *mut u8
}

/// Returns the view of null descriptors, which has no extents and whose kernels return zeros.
pub fn null_view() -> &'static ImageView {
    static VIEW: OnceLock<ImageView> = OnceLock::new();
    VIEW.get_or_init(|| empty_view(zero_page()))
}

fn empty_view(base: *mut u8) -> ImageView {
    ImageView {
        rows: TexelRows::NONE,
        kernels: [kernels::nothing; KERNEL_COUNT],
        pair: kernels::no_pair,
        chunks: kernels::one_by_one,
        taps: kernels::no_taps,
        base,
        size: 0,
        layer_stride: 0,
        sample_stride: 0,
        format: 0,
        dim: Dim::D2,
        arrayed: 0,
        levels: 0,
        layers: 0,
        samples: 0,
        swizzle: [0, 1, 2, 3],
        stencil_aspect: 0,
        min_lod: 0.0,
        texels: 0,
        outside_alpha: 0,
        residency: std::ptr::null(),
        of_piece: [kernels::nothing; KERNEL_SAMPLE],
        conversion: std::ptr::null(),
        level: [ImageLevel::default(); MAX_LEVELS],
    }
}

/// Makes a view of an image. A request that does not fit its image gives a view whose kernels
/// return zeros.
pub fn image_view(request: &ViewRequest<'_>) -> ImageView {
    try_image_view(request).unwrap_or_else(|| empty_view(zero_page()))
}

fn try_image_view(request: &ViewRequest<'_>) -> Option<ImageView> {
    let plane = request.memory.layout.planes().iter().find(|plane| plane.aspect == request.aspect)?;
    let format = request.format.of_aspect(request.aspect);
    if u32::from(format.info().block_bytes) != plane.block_bytes {
        return None;
    }
    over_plane(request, plane, format, [1; 2])
}

/// Makes a view of a plane's memory as texels of `format`, each of which covers `per_texel` of the
/// plane's texels.
pub(super) fn over_plane(
    request: &ViewRequest<'_>,
    plane: &PlaneLayout,
    format: Format,
    per_texel: [u32; 2],
) -> Option<ImageView> {
    let layout = &*request.memory.layout;
    let desc = &layout.desc;
    let (base_level, levels) = request.levels;
    let (base_layer, layers) = request.layers;
    let fits = levels > 0
        && base_level.checked_add(levels)? <= desc.levels
        && layers > 0
        && (!matches!(request.dim, Dim::Cube) || layers >= 6);
    let first = plane.levels.get(base_level as usize)?;
    let all_layers = if request.slices { first.extent[2] } else { desc.layers };
    if !fits || base_layer.checked_add(layers)? > all_layers || request.memory.base.is_null() {
        return None;
    }
    let layer_stride = if request.slices { first.slice_pitch } else { plane.layer_stride };
    let mut view = empty_view(request.memory.base);
    (view.kernels, view.taps) = kernels::kernels_of(format, SimdLevel::detect());
    (view.pair, view.chunks) = kernels::joint_of(format, SimdLevel::detect());
    view.size = layout.size;
    view.layer_stride = layer_stride;
    view.sample_stride = plane.sample_stride;
    view.format = u32::from(format.0);
    view.dim = request.dim;
    view.arrayed = u32::from(request.arrayed);
    view.levels = levels;
    view.layers = layers;
    view.samples = desc.samples;
    view.swizzle = request.swizzle;
    view.stencil_aspect = u32::from(request.aspect == Aspect::Stencil);
    view.min_lod = request.min_lod;
    if request.dim != Dim::D2 {
        // The kernels of the other classes would only call the one for any sampler.
        let any = view.kernels[KERNEL_SAMPLE + sampler_class::GENERAL as usize];
        view.kernels[KERNEL_SAMPLE..].fill(any);
        (view.pair, view.chunks) = (kernels::no_pair, kernels::one_by_one);
    }
    view.outside_alpha = outside_alpha(format);
    // A view may have several texels per block of the plane.
    let finer = plane.block_bytes.checked_div(format.info().block_bytes.into()).map_or(0, |n| n.max(1).ilog2());
    for (to, from) in view.level.iter_mut().zip(&plane.levels[base_level as usize..]).take(levels as usize) {
        // A slice of an image with cells has no separate memory; it is found by its number in a
        // view of one layer.
        let first_slice = if request.slices && from.grid.is_some() { base_layer } else { 0 };
        *to = ImageLevel {
            offset: plane.offset + from.offset + u64::from(base_layer - first_slice) * layer_stride,
            row_pitch: from.row_pitch,
            slice_pitch: from.slice_pitch,
            cell: from.grid.map_or(0, |grid| (grid.log2[0] + finer) | grid.log2[1] << 8 | grid.log2[2] << 16 | 1 << 24),
            cells: from.grid.map_or([0; 3], |grid| [grid.cells[0], grid.cells[1], 0]),
            width: from.extent[0].div_ceil(per_texel[0]),
            height: from.extent[1].div_ceil(per_texel[1]),
            depth: if request.slices { 1 } else { from.extent[2] },
            first_slice,
        };
    }
    if plane.residency.is_some() {
        view.of_piece.copy_from_slice(&view.kernels[..KERNEL_SAMPLE]);
        view.kernels = kernels::sparse_kernels(format, SimdLevel::detect());
        (view.pair, view.chunks) = (kernels::no_pair, kernels::one_by_one);
    } else {
        view.rows = rows_of(&view);
    }
    Some(view)
}

/// Gives a view of a sparse resource its table of resident memory ([`ImageView::residency`]).
pub fn set_residency(view: &mut ImageView, residency: *const u8) {
    view.residency = residency;
    view.kernels[KERNEL_RESIDENT] = kernels::resident;
}

/// Returns the value of [`ImageView::outside_alpha`].
fn outside_alpha(format: Format) -> u32 {
    match format.is_integer() {
        _ if format.has_alpha() => 0,
        true => 1,
        false => ONE,
    }
}

/// Makes a texel buffer view of the whole texels of a range, which must stay valid as long as the
/// view.
pub fn buffer_view(MemoryRange { address, size }: MemoryRange, format: Format) -> ImageView {
    let bytes = match format.long_integers() {
        0 => base::format::kernels(format).bytes as u64,
        n => 8 * u64::from(n),
    };
    if address.is_null() || bytes == 0 {
        return empty_view(zero_page());
    }
    let mut view = empty_view(address);
    (view.kernels, _) = kernels::kernels_of(format, SimdLevel::detect());
    if !address.cast::<u32>().is_aligned() {
        view.kernels[base::abi::KERNEL_ATOMIC] = kernels::nothing;
    }
    for kernel in &mut view.kernels[base::abi::KERNEL_SAMPLE..] {
        *kernel = kernels::nothing;
    }
    view.size = size;
    view.format = u32::from(format.0);
    view.outside_alpha = outside_alpha(format);
    view.dim = Dim::Buffer;
    view.levels = 1;
    view.layers = 1;
    // The kernels count bytes in 32 bits and texels in 31 bits; the limit (maxTexelBufferElements)
    // is lower.
    view.texels = (size / bytes).min(u64::from(u32::MAX) / bytes).min(i32::MAX as u64) as u32;
    view.level[0].width = view.texels;
    view.level[0].height = 1;
    view.level[0].depth = 1;
    view.rows = rows_of(&view);
    view
}

/// Returns the sampler with its kernel class; all other fields must be filled.
pub fn new_sampler(mut desc: Sampler) -> Sampler {
    desc.class = sampler_class::class_of(&desc);
    desc
}

/// Returns the sampler of descriptor slots that were never written.
pub fn default_sampler() -> &'static Sampler {
    static SAMPLER: OnceLock<Sampler> = OnceLock::new();
    SAMPLER.get_or_init(|| {
        new_sampler(Sampler {
            class: 0,
            mag_filter: 0,
            min_filter: 0,
            mipmap_mode: 0,
            address_mode: [address::mode::CLAMP_TO_EDGE; 3],
            lod_bias: 0.0,
            min_lod: 0.0,
            max_lod: 0.0,
            max_anisotropy: 1.0,
            compare_enable: 0,
            compare_op: 0,
            border_color: [0; 4],
            border_is_int: 0,
            unnormalized: 0,
            reduction: 0,
            non_seamless: 0,
        })
    })
}
