//! The `extern "C"` kernels: each body compiled twice, for AVX2 hosts and for any host, with the same results; and the choice of a
//! view's kernels.
//!
//! Rust never contracts a multiply and an add, and vectors compute what scalars do, so the two differ in speed only.

use super::blocks::Blocks;
use super::host::{Portable, Wide};
use super::texel::{Any, Plain, Texels};
use super::{access, general, planar};
use base::abi::{ImageArgs, ImageKernel, ImageView, KERNEL_ATOMIC, KERNEL_COUNT, KERNEL_FETCH, KERNEL_SAMPLE};
use base::abi::{KERNEL_STORE, Sampler};
use base::format::Format;
use base::format::lanes::row;

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
    /// Everything else; 6, 7 are the same kernel, free for more fast paths.
    pub const GENERAL: u32 = 4;
    /// Linear, anisotropic; levels chosen or blended.
    pub const ANISOTROPIC: u32 = 5;
}

/// The class of a sampler.
pub fn class_of(s: &Sampler) -> u32 {
    let plain = s.mag_filter == s.min_filter && s.compare_enable == 0 && s.unnormalized == 0 && s.reduction == 0;
    match (plain, s.max_anisotropy > 1.0, s.min_filter, s.mipmap_mode) {
        (true, false, 0, 0) => class::NEAREST,
        (true, false, 1, 0) => class::LINEAR,
        (true, false, 0, 1) => class::NEAREST_MIP_LINEAR,
        (true, false, 1, 1) => class::LINEAR_MIP_LINEAR,
        (true, true, 1, _) => class::ANISOTROPIC,
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
                #[allow(dead_code, reason = "not every kernel has pieces")]
                type H = Portable;
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
                #[allow(dead_code, reason = "not every kernel has pieces")]
                type H = Wide;
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
    |view, sampler, args| planar::sample::<H, T, L, M>(view, &*sampler, args)
);
kernel!(
    /// Samplers of the anisotropic class.
    anisotropic_kernel [T: Texels] [T] |view, sampler, args| planar::anisotropic::<H, T>(view, &*sampler, args)
);
kernel!(
    /// Fetch.
    fetch_kernel [T: Texels] [T] |view, _sampler, args| access::fetch::<H, T>(view, args)
);
kernel!(
    /// Store.
    store_kernel [T: Texels] [T] |view, _sampler, args| access::store::<H, T>(view, args)
);

unsafe extern "C" fn atomic(view: *const ImageView, _: *const Sampler, args: *mut ImageArgs) {
    // SAFETY: the kernel's contract; chosen for aligned 32-bit views only.
    unsafe { access::atomic::<Portable>(&*view, &mut *args) }
}

/// Of null views, and of operations that a view does not have: zeros.
pub unsafe extern "C" fn nothing(_: *const ImageView, _: *const Sampler, args: *mut ImageArgs) {
    // SAFETY: the kernel's contract.
    unsafe { (*args).result = [[0; base::abi::MAX_LANES]; 4] };
}

type Kernels = [ImageKernel; KERNEL_COUNT];

/// Kernels of class `T` that are sampled by the general kernel of `G`, which sees the same texels.
fn general_set<T: Texels, G: Texels>(wide: bool) -> Kernels {
    let mut set: Kernels = [general_kernel::<G>(wide); KERNEL_COUNT];
    set[KERNEL_FETCH] = fetch_kernel::<T>(wide);
    set[KERNEL_STORE] = store_kernel::<T>(wide);
    set[KERNEL_ATOMIC] = nothing;
    set
}

/// Kernels of a class of float texels.
fn planar_set<T: Texels, G: Texels>(wide: bool) -> Kernels {
    let mut set = general_set::<T, G>(wide);
    set[KERNEL_SAMPLE + class::NEAREST as usize] = planar_kernel::<T, false, false>(wide);
    set[KERNEL_SAMPLE + class::LINEAR as usize] = planar_kernel::<T, true, false>(wide);
    set[KERNEL_SAMPLE + class::NEAREST_MIP_LINEAR as usize] = planar_kernel::<T, false, true>(wide);
    set[KERNEL_SAMPLE + class::LINEAR_MIP_LINEAR as usize] = planar_kernel::<T, true, true>(wide);
    set[KERNEL_SAMPLE + class::ANISOTROPIC as usize] = anisotropic_kernel::<T>(wide);
    set
}

/// Float formats with all kernels of their own.
fn own<const ROW: usize, const RAW: bool>(wide: bool) -> Kernels {
    planar_set::<Plain<ROW, RAW>, Plain<ROW, RAW>>(wide)
}

/// Float formats that share the general kernel.
fn float<const ROW: usize>(wide: bool) -> Kernels {
    planar_set::<Plain<ROW, false>, Any>(wide)
}

/// Integer formats.
fn integer<const ROW: usize>(wide: bool) -> Kernels {
    general_set::<Plain<ROW, false>, Any>(wide)
}

type KernelsOfClass = fn(bool) -> Kernels;

/// The formats with a class of their own: names, each of the same texels as the last one's row.
const CLASSES: &[(&[&str], KernelsOfClass)] = &[
    (&["A8B8G8R8_UNORM_PACK32", "R8G8B8A8_UNORM"], own::<{ row("R8G8B8A8_UNORM") }, true>),
    (&["B8G8R8A8_UNORM"], own::<{ row("B8G8R8A8_UNORM") }, true>),
    (&["A8B8G8R8_SRGB_PACK32", "R8G8B8A8_SRGB"], own::<{ row("R8G8B8A8_SRGB") }, false>),
    (&["B8G8R8A8_SRGB"], own::<{ row("B8G8R8A8_SRGB") }, false>),
    (&["R8_UNORM"], own::<{ row("R8_UNORM") }, true>),
    (&["D32_SFLOAT", "D32_SFLOAT_S8_UINT", "R32_SFLOAT"], own::<{ row("R32_SFLOAT") }, false>),
    (&["R32G32B32A32_SFLOAT"], own::<{ row("R32G32B32A32_SFLOAT") }, false>),
    (&["R16G16B16A16_SFLOAT"], own::<{ row("R16G16B16A16_SFLOAT") }, false>),
    (&["R8G8_UNORM"], float::<{ row("R8G8_UNORM") }>),
    (&["A8B8G8R8_SNORM_PACK32", "R8G8B8A8_SNORM"], float::<{ row("R8G8B8A8_SNORM") }>),
    (&["D16_UNORM", "R16_UNORM"], float::<{ row("R16_UNORM") }>),
    (&["R16G16B16A16_UNORM"], float::<{ row("R16G16B16A16_UNORM") }>),
    (&["R16_SFLOAT"], float::<{ row("R16_SFLOAT") }>),
    (&["R16G16_SFLOAT"], float::<{ row("R16G16_SFLOAT") }>),
    (&["R32G32_SFLOAT"], float::<{ row("R32G32_SFLOAT") }>),
    (&["B10G11R11_UFLOAT_PACK32"], float::<{ row("B10G11R11_UFLOAT_PACK32") }>),
    (&["E5B9G9R9_UFLOAT_PACK32"], float::<{ row("E5B9G9R9_UFLOAT_PACK32") }>),
    (&["A2B10G10R10_UNORM_PACK32"], float::<{ row("A2B10G10R10_UNORM_PACK32") }>),
    (&["S8_UINT", "R8_UINT"], integer::<{ row("R8_UINT") }>),
    (&["R8_SINT"], integer::<{ row("R8_SINT") }>),
    (&["A8B8G8R8_UINT_PACK32", "R8G8B8A8_UINT"], integer::<{ row("R8G8B8A8_UINT") }>),
    (&["A8B8G8R8_SINT_PACK32", "R8G8B8A8_SINT"], integer::<{ row("R8G8B8A8_SINT") }>),
    (&["R16_UINT"], integer::<{ row("R16_UINT") }>),
    (&["R16_SINT"], integer::<{ row("R16_SINT") }>),
    (&["R16G16B16A16_UINT"], integer::<{ row("R16G16B16A16_UINT") }>),
    (&["R16G16B16A16_SINT"], integer::<{ row("R16G16B16A16_SINT") }>),
    (&["R32_SINT", "R32_UINT"], integer::<{ row("R32_UINT") }>),
    (&["R32G32_SINT", "R32G32_UINT"], integer::<{ row("R32G32_UINT") }>),
    (&["R32G32B32A32_SINT", "R32G32B32A32_UINT"], integer::<{ row("R32G32B32A32_UINT") }>),
];

/// The kernels of views of a plane format (`Format::plane_format`) on this host.
pub fn kernels_of(format: Format) -> Kernels {
    kernels_for_host(format, crate::host::wide())
}

/// The kernels of a format in one variant; `wide` only on hosts that have AVX2 and FMA.
pub(super) fn kernels_for_host(format: Format, wide: bool) -> Kernels {
    let info = format.info();
    if info.image_features | info.buffer_features == 0 {
        return [nothing; KERNEL_COUNT];
    }
    let mut set = match CLASSES.iter().find(|(names, _)| names.contains(&info.name)) {
        Some((_, kernels)) => kernels(wide),
        None if format.is_compressed() => planar_set::<Blocks, Blocks>(wide),
        None if format.is_integer() => general_set::<Any, Any>(wide),
        None => planar_set::<Any, Any>(wide),
    };
    if format.is_compressed() {
        set[KERNEL_STORE] = nothing;
    }
    if matches!(info.name, "R32_UINT" | "R32_SINT" | "R32_SFLOAT") {
        set[KERNEL_ATOMIC] = atomic;
    }
    set
}
