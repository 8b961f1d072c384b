//! The `extern "C"` kernels: each body compiled twice, for AVX2 hosts and for any host, with the same results; and the choice of a
//! view's kernels.
//!
//! Rust never contracts a multiply and an add, and vectors compute what scalars do, so the two differ in speed only.

use super::texel::{Any, Blocks, R8, R32Float, Rgba16Float, Rgba32, Srgb8, Texels, Unorm8};
use super::{access, general, planar};
use base::abi::{ImageArgs, ImageKernel, ImageView, KERNEL_ATOMIC, KERNEL_COUNT, KERNEL_FETCH, KERNEL_SAMPLE};
use base::abi::{KERNEL_STORE, Sampler};
use base::format::Format;

/// Sampler classes, see [`class_of`].
pub mod class {
    /// One filter for everything, plain: nearest, linear; with mips chosen or blended.
    pub const NEAREST: u32 = 0;
    /// Linear, one level.
    pub const LINEAR: u32 = 1;
    /// Nearest, two levels blended.
    pub const NEAREST_MIP_LINEAR: u32 = 2;
    /// Linear, two levels blended.
    pub const LINEAR_MIP_LINEAR: u32 = 3;
    /// Everything else; 5, 6, 7 are the same kernel, free for more fast paths.
    pub const GENERAL: u32 = 4;
}

/// The class of a sampler.
pub fn class_of(s: &Sampler) -> u32 {
    let plain = s.mag_filter == s.min_filter
        && s.max_anisotropy <= 1.0
        && s.compare_enable == 0
        && s.unnormalized == 0
        && s.reduction == 0;
    match (plain, s.min_filter, s.mipmap_mode) {
        (true, 0, 0) => class::NEAREST,
        (true, 1, 0) => class::LINEAR,
        (true, 0, 1) => class::NEAREST_MIP_LINEAR,
        (true, 1, 1) => class::LINEAR_MIP_LINEAR,
        _ => class::GENERAL,
    }
}

/// Defines `$name::<…>(wide)`: the kernel in one of its two variants.
macro_rules! kernel {
    ($(#[$doc:meta])* $name:ident [$($generics:tt)*] [$($names:tt)*] |$view:ident, $sampler:ident, $args:ident| $body:expr) => {
        $(#[$doc])*
        fn $name<$($generics)*>(wide: bool) -> ImageKernel {
            unsafe extern "C" fn portable<$($generics)*>(
                $view: *const ImageView, $sampler: *const Sampler, $args: *mut ImageArgs,
            ) {
                // SAFETY: the kernel's contract: valid pointers, and a view that chose this kernel for its format.
                unsafe {
                    let ($view, $args) = (&*$view, &mut *$args);
                    $body
                }
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            unsafe extern "C" fn vectored<$($generics)*>(
                $view: *const ImageView, $sampler: *const Sampler, $args: *mut ImageArgs,
            ) {
                // SAFETY: as above.
                unsafe {
                    let ($view, $args) = (&*$view, &mut *$args);
                    $body
                }
            }
            #[cfg(target_arch = "x86_64")]
            if wide {
                return vectored::<$($names)*>;
            }
            let _ = wide;
            portable::<$($names)*>
        }
    };
}

kernel!(
    /// Any sampler.
    general_kernel [T: Texels] [T] |view, sampler, args| general::sample::<T>(view, &*sampler, args)
);
kernel!(
    /// Samplers of the plain classes.
    planar_kernel [T: Texels, const L: bool, const M: bool] [T, L, M]
    |view, sampler, args| planar::sample::<T, L, M>(view, &*sampler, args)
);
kernel!(
    /// Fetch.
    fetch_kernel [T: Texels] [T] |view, _sampler, args| access::fetch::<T>(view, args)
);

unsafe extern "C" fn store(view: *const ImageView, _: *const Sampler, args: *mut ImageArgs) {
    // SAFETY: the kernel's contract.
    unsafe { access::store(&*view, &mut *args) }
}

unsafe extern "C" fn atomic(view: *const ImageView, _: *const Sampler, args: *mut ImageArgs) {
    // SAFETY: the kernel's contract; chosen for aligned 32-bit views only.
    unsafe { access::atomic(&*view, &mut *args) }
}

/// Of null views, and of operations that a view does not have: zeros.
pub unsafe extern "C" fn nothing(_: *const ImageView, _: *const Sampler, args: *mut ImageArgs) {
    // SAFETY: the kernel's contract.
    unsafe { (*args).result = [[0; base::abi::MAX_LANES]; 4] };
}

/// Kernels of a class that is only sampled through the general kernel.
fn general_set<T: Texels>(wide: bool) -> [ImageKernel; KERNEL_COUNT] {
    let mut set: [ImageKernel; KERNEL_COUNT] = [general_kernel::<T>(wide); KERNEL_COUNT];
    set[KERNEL_FETCH] = fetch_kernel::<T>(wide);
    set[KERNEL_STORE] = nothing;
    set[KERNEL_ATOMIC] = nothing;
    set
}

/// Kernels of a class of float texels.
fn planar_set<T: Texels>(wide: bool) -> [ImageKernel; KERNEL_COUNT] {
    let mut set = general_set::<T>(wide);
    set[KERNEL_SAMPLE + class::NEAREST as usize] = planar_kernel::<T, false, false>(wide);
    set[KERNEL_SAMPLE + class::LINEAR as usize] = planar_kernel::<T, true, false>(wide);
    set[KERNEL_SAMPLE + class::NEAREST_MIP_LINEAR as usize] = planar_kernel::<T, false, true>(wide);
    set[KERNEL_SAMPLE + class::LINEAR_MIP_LINEAR as usize] = planar_kernel::<T, true, true>(wide);
    set
}

/// The kernels of views of a plane format (`Format::plane_format`) on this host.
pub fn kernels_of(format: Format) -> [ImageKernel; KERNEL_COUNT] {
    kernels_for_host(format, crate::host::wide())
}

/// The kernels of a format in one variant; `wide` only on hosts that have AVX2 and FMA.
pub(super) fn kernels_for_host(format: Format, wide: bool) -> [ImageKernel; KERNEL_COUNT] {
    let info = format.info();
    if info.image_features | info.buffer_features == 0 {
        return [nothing; KERNEL_COUNT];
    }
    let mut set = match info.name {
        "R8G8B8A8_UNORM" | "A8B8G8R8_UNORM_PACK32" => planar_set::<Unorm8<false>>(wide),
        "B8G8R8A8_UNORM" => planar_set::<Unorm8<true>>(wide),
        "R8G8B8A8_SRGB" | "A8B8G8R8_SRGB_PACK32" => planar_set::<Srgb8<false>>(wide),
        "B8G8R8A8_SRGB" => planar_set::<Srgb8<true>>(wide),
        "R8_UNORM" => planar_set::<R8>(wide),
        "R32_SFLOAT" | "D32_SFLOAT" | "D32_SFLOAT_S8_UINT" => planar_set::<R32Float>(wide),
        "R32G32B32A32_SFLOAT" => planar_set::<Rgba32>(wide),
        "R16G16B16A16_SFLOAT" => planar_set::<Rgba16Float>(wide),
        "R32G32B32A32_UINT" | "R32G32B32A32_SINT" => general_set::<Rgba32>(wide),
        _ if format.is_compressed() => planar_set::<Blocks>(wide),
        _ if format.is_integer() => general_set::<Any>(wide),
        _ => planar_set::<Any>(wide),
    };
    if !format.is_compressed() {
        set[KERNEL_STORE] = store;
    }
    if matches!(info.name, "R32_UINT" | "R32_SINT" | "R32_SFLOAT") {
        set[KERNEL_ATOMIC] = atomic;
    }
    set
}
