//! The kernels that generated code calls, which are compiled for every level of the host, and the
//! choice of a view's kernels.

use super::chunk_batch::{ChunkRows, kernel_of};
use super::compressed::CompressedClass;
use super::lanes8::{sample_2d, sample_2d_batch, sample_any};
use super::sampler_class;
use super::slice::Slice;
use super::sparse::{self, SparseClass};
use super::texel::{AnyClass, PlainClass, Texels};
use super::words::Words;
use super::{fetch_store, scalar};
use base::abi::{
    ChunksKernel, ImageArgs, ImageKernel, ImageView, KERNEL_ATOMIC, KERNEL_COUNT, KERNEL_FETCH, KERNEL_RESIDENT,
    KERNEL_SAMPLE, KERNEL_STORE, MAX_LANES, PairKernel, Sampler, TAPS, Taps, TapsKernel,
};
use base::format::Format;
use base::format::lanes::{FilterTexel, row};
use base::host::{Host, Ints, Portable, SimdLevel};
use std::hint::black_box;

base::multiversion! {
    /// Samples images with cells, with any sampler.
    unsafe extern "code" fn general_kernel (view: *const ImageView, sampler: *const Sampler, args: *mut ImageArgs) {
        scalar::sample::<SparseClass>(&*view, &*sampler, &mut *args);
    }
    /// Samples all other images, with any sampler.
    unsafe extern "code" fn vector_kernel (view: *const ImageView, sampler: *const Sampler, args: *mut ImageArgs) {
        sample_any::sample::<H>(&*view, &*sampler, &mut *args);
    }
    /// Reads texels of a class ([`TapsKernel`]).
    unsafe extern "code" fn taps_kernel [T: Texels] [T] (view: *const ImageView, taps: *mut Taps, first: u32, count: u32) {
        if H::IS_BASELINE {
            return shared_taps::<T::Shared>(H::LEVEL)(view, taps, first, count);
        }
        read_taps::<H, T>(&*view, taps, first, count);
    }
    /// Reads texels at the baseline of several levels, where classes share the code.
    unsafe extern "code" fn shared_taps [T: Texels] [T] (view: *const ImageView, taps: *mut Taps, first: u32, count: u32) {
        read_taps::<H, T>(&*view, taps, first, count);
    }
    /// Samples with samplers of the plain classes, and of the anisotropic class.
    unsafe extern "code" fn planar_kernel [T: Texels, const LINEAR: bool, const PROBES: bool] [T, LINEAR, PROBES]
        (view: *const ImageView, sampler: *const Sampler, args: *mut ImageArgs) {
        if PROBES && H::IS_BASELINE {
            return shared_probes::<T::Shared>(H::LEVEL)(view, sampler, args);
        }
        sample_2d::sample::<H, T, LINEAR, PROBES>(&*view, &*sampler, &mut *args);
    }
    /// Takes anisotropic samples at the baseline of several levels, where classes share the code.
    unsafe extern "code" fn shared_probes [T: Texels] [T]
        (view: *const ImageView, sampler: *const Sampler, args: *mut ImageArgs) {
        sample_2d::sample::<H, T, true, true>(&*view, &*sampler, &mut *args);
    }
    /// Stores texels at the baseline of several levels, where classes share the code.
    unsafe extern "code" fn shared_store [T: Texels] [T]
        (view: *const ImageView, _sampler: *const Sampler, args: *mut ImageArgs) {
        fetch_store::store::<H, T>(&*view, &mut *args);
    }
    /// Samples as `planar_kernel` does, for classes that are filtered in 512-bit vectors, with or
    /// without anisotropy.
    for Avx512 unsafe extern "code" fn wide_kernel [T: Texels, const PROBES: bool] [T, PROBES]
        (view: *const ImageView, sampler: *const Sampler, args: *mut ImageArgs) {
        if PROBES && H::IS_BASELINE {
            return shared_probes::<T::Shared>(H::LEVEL)(view, sampler, args);
        }
        sample_2d::sample::<H, T, true, PROBES>(&*view, &*sampler, &mut *args);
    }
    /// Takes the most frequent samples of one level, with few registers. All others are left to the
    /// next kernel, which must not be inlined here.
    for Avx512 unsafe extern "code" fn plain_kernel [T: Texels, const LINEAR: bool] [T, LINEAR]
        (view: *const ImageView, sampler: *const Sampler, args: *mut ImageArgs) {
        if !T::sample::<H, LINEAR, false>(&*view, &*sampler, &mut *args) {
            black_box(mips_kernel::<T, LINEAR>(H::LEVEL))(view, sampler, args);
        }
    }
    /// Takes the most frequent samples of several levels. All others are left to the kernels for
    /// any samples.
    for Avx512 unsafe extern "code" fn mips_kernel [T: Texels, const LINEAR: bool] [T, LINEAR]
        (view: *const ImageView, sampler: *const Sampler, args: *mut ImageArgs) {
        if !T::sample::<H, LINEAR, true>(&*view, &*sampler, &mut *args) {
            let any = match LINEAR {
                true => wide_kernel::<T, false>(H::LEVEL),
                false => planar_kernel::<T, false, false>(H::LEVEL),
            };
            black_box(any)(view, sampler, args);
        }
    }
    /// Takes the most frequent anisotropic samples, and leaves all others to the kernel for any
    /// samples.
    for Avx512 unsafe extern "code" fn probes_kernel [T: Texels] [T]
        (view: *const ImageView, sampler: *const Sampler, args: *mut ImageArgs) {
        if !T::anisotropic::<H>(&*view, &*sampler, &mut *args) {
            black_box(wide_kernel::<T, true>(H::LEVEL))(view, sampler, args);
        }
    }
    /// Takes the most frequent samples of one level of two views, one for each quad.
    for Avx512 unsafe extern "code" fn pair_kernel [T: Texels] [T]
        (views: *const [*const ImageView; 2], sampler: *const Sampler, args: *mut ImageArgs, done: *mut bool) {
        let views = [&*(*views)[0], &*(*views)[1]];
        *done = match (*sampler).class {
            sampler_class::NEAREST if T::HAS_512_NEAREST => T::sample_pair::<H, false>(views, &*sampler, &mut *args),
            sampler_class::LINEAR => T::sample_pair::<H, true>(views, &*sampler, &mut *args),
            _ => false,
        };
    }
    /// Samples many chunks.
    for Avx512 unsafe extern "code" fn chunks_kernel [T: Texels] [T]
        (view: *const ImageView, sampler: *const Sampler, args: *mut ImageArgs, coords: *const f32, results: *mut u32, chunks: u32) {
        let (rows, any) = (&mut ChunkRows::new(coords, results, chunks, (*args).row_lanes), kernel_of(view, sampler));
        let (view, sampler, args) = (&*view, &*sampler, &mut *args);
        if !H::HAS_512 && !H::IS_BASELINE {
            return match sampler.class {
                _ if is_rare::<T>() => rows.one_by_one(view, sampler, args, any),
                sampler_class::NEAREST => sample_2d_batch::sample_chunks::<H, T, false>(view, sampler, args, rows, any),
                sampler_class::LINEAR => sample_2d_batch::sample_chunks::<H, T, true>(view, sampler, args, rows, any),
                _ => rows.one_by_one(view, sampler, args, any),
            };
        }
        match sampler.class {
            sampler_class::NEAREST if T::HAS_512_NEAREST => {
                let others = black_box(planar_kernel::<T, false, false>(H::LEVEL));
                T::sample_chunks::<H, false>(view, sampler, args, rows, [any, others]);
            }
            sampler_class::LINEAR => {
                let others = black_box(wide_kernel::<T, false>(H::LEVEL));
                T::sample_chunks::<H, true>(view, sampler, args, rows, [any, others]);
            }
            sampler_class::ANISOTROPIC => {
                let others = black_box(wide_kernel::<T, true>(H::LEVEL));
                T::anisotropic_chunks::<H>(view, sampler, args, rows, [any, others]);
            }
            _ => rows.one_by_one(view, sampler, args, any),
        }
    }
    /// Fetches texels without a filter (`OpImageFetch`, `OpImageRead`).
    unsafe extern "code" fn fetch_kernel [T: Texels] [T]
        (view: *const ImageView, _sampler: *const Sampler, args: *mut ImageArgs) {
        fetch_store::fetch::<H, T>(&*view, &mut *args);
    }
    /// Stores texels (`OpImageWrite`).
    unsafe extern "code" fn store_kernel [T: Texels] [T]
        (view: *const ImageView, _sampler: *const Sampler, args: *mut ImageArgs) {
        if H::IS_BASELINE {
            return shared_store::<T::Shared>(H::LEVEL)(view, _sampler, args);
        }
        fetch_store::store::<H, T>(&*view, &mut *args);
    }
}

/// Reads texels of a class.
///
/// # Safety
/// The requirements of [`TapsKernel`] hold: the places lie inside of the slice, whose texels belong
/// to the class. The host is `H`.
#[inline(always)]
unsafe fn read_taps<H: Host, T: Texels>(view: &ImageView, taps: *mut Taps, first: u32, count: u32) {
    // SAFETY: the places lie inside of the slice, whose texels belong to the class (`# Safety`).
    // `taps.texels` is only written, because it may be uninitialised.
    unsafe {
        let slice = Slice { base: (*taps).base, pitch: (*taps).pitch, size: (*taps).size, mask: (*taps).mask };
        let mut varying = 0;
        for c in 0..4 {
            varying |= u32::from(T::HAS[c]) << c;
        }
        (*taps).varying = varying;
        let (mut i, end) = (first as usize, (first + count) as usize);
        while i < end {
            let [x, y] = place::<H>(taps, i);
            if i + 4 <= end {
                // A footprint of neighbours needs fewer loads.
                let ([right, same_row], [left, below], [right_below, same_below]) =
                    (place::<H>(taps, i + 1), place::<H>(taps, i + 2), place::<H>(taps, i + 3));
                let columns = (x + H::Ints::splat(1)).equal(right) & left.equal(x) & right_below.equal(right);
                if (columns & same_row.equal(y) & same_below.equal(below)).movemask() == (1 << MAX_LANES) - 1 {
                    let words = T::adjacent::<H>(view, &slice, [x, right], [y, below]);
                    for (k, words) in words.iter().enumerate() {
                        give::<H, T>(taps, i + k, words);
                    }
                    i += 4;
                    continue;
                }
            }
            give::<H, T>(taps, i, &T::words::<H>(view, &slice, x, y));
            i += 1;
        }
    }
}

/// Returns the position of a texel.
///
/// # Safety
/// The position is initialised. The host is `H`.
#[inline(always)]
unsafe fn place<H: Host>(taps: *const Taps, i: usize) -> [H::Ints; 2] {
    // SAFETY: the position is initialised; the host is `H` (`# Safety`).
    let [x, y] = unsafe { (&raw const (*taps).at[i % TAPS]).read() };
    [H::Ints::from_array(x), H::Ints::from_array(y)]
}

/// Writes the components of a texel.
///
/// # Safety
/// The requirements of [`read_taps`] hold.
#[inline(always)]
unsafe fn give<H: Host, T: Texels>(taps: *mut Taps, i: usize, words: &Words<H>) {
    let texels = T::components::<H::Ints, false>(words);
    for (c, component) in texels.into_iter().enumerate() {
        // SAFETY: `taps` is writable, as `read_taps` requires.
        unsafe { (&raw mut (*taps).texels[i % TAPS][c]).write(component.to_array()) };
    }
}

/// Returns true for texels of planes of ten or twelve bits. Only hosts with the 512-bit level have
/// a loop for them, to keep the library small.
const fn is_rare<T: Texels>() -> bool {
    matches!(T::FOUR, Some(FilterTexel::Narrow(few)) if few.bits % 8 != 0)
}

/// Accesses one texel per lane of images with cells.
#[base::code_fn]
unsafe extern "code" fn sparse_kernel<const KERNEL: usize>(
    view: *const ImageView,
    _: *const Sampler,
    args: *mut ImageArgs,
) {
    // SAFETY: a kernel is called with a valid view and a filled argument block.
    unsafe { sparse::access::<KERNEL>(&*view, &mut *args) }
}

/// Reports all texels as resident, for views that have all of their memory.
#[base::code_fn]
unsafe extern "code" fn all_resident(_: *const ImageView, _: *const Sampler, args: *mut ImageArgs) {
    // SAFETY: a kernel is called with a filled argument block.
    unsafe { (*args).result[0] = [1; MAX_LANES] };
}

/// Reports the residency of texels of sparse resources.
#[base::code_fn]
pub unsafe extern "code" fn resident(view: *const ImageView, sampler: *const Sampler, args: *mut ImageArgs) {
    // SAFETY: a kernel is called with a valid view and a filled argument block.
    unsafe { sparse::resident(&*view, sampler.as_ref(), &mut *args) }
}

/// Returns the kernels of views of images with cells.
pub fn sparse_kernels(format: Format, level: SimdLevel) -> Kernels {
    if format.info().image_features == 0 || format.has_parts() {
        return [nothing; KERNEL_COUNT];
    }
    let sampled = if format.long_integers() == 0 { general_kernel(level) } else { nothing };
    let mut set: Kernels = [sampled; KERNEL_COUNT];
    set[KERNEL_FETCH] = sparse_kernel::<KERNEL_FETCH>;
    set[KERNEL_STORE] = sparse_kernel::<KERNEL_STORE>;
    set[KERNEL_ATOMIC] = sparse_kernel::<KERNEL_ATOMIC>;
    set[KERNEL_RESIDENT] = all_resident;
    set
}

#[base::code_fn]
unsafe extern "code" fn atomic(view: *const ImageView, _: *const Sampler, args: *mut ImageArgs) {
    // SAFETY: a kernel is called with a valid view and a filled argument block; this one is
    // chosen only for aligned 32-bit views.
    unsafe { fetch_store::atomic::<Portable>(&*view, &mut *args) }
}

#[base::code_fn]
unsafe extern "code" fn atomic_long(view: *const ImageView, _: *const Sampler, args: *mut ImageArgs) {
    // SAFETY: a kernel is called with a valid view and a filled argument block; this one is
    // chosen only for aligned 64-bit views.
    unsafe { fetch_store::atomic_long::<Portable>(&*view, &mut *args) }
}

#[base::code_fn]
unsafe extern "code" fn fetch_long<const N: usize, const BYTES: usize>(
    view: *const ImageView,
    _: *const Sampler,
    args: *mut ImageArgs,
) {
    // SAFETY: a kernel is called with a valid view and a filled argument block; this one is
    // chosen only for views of `N` 64-bit integers.
    unsafe { fetch_store::fetch_long::<Portable, N, BYTES>(&*view, &mut *args) }
}

#[base::code_fn]
unsafe extern "code" fn store_long<const N: usize, const BYTES: usize>(
    view: *const ImageView,
    _: *const Sampler,
    args: *mut ImageArgs,
) {
    // SAFETY: a kernel is called with a valid view and a filled argument block; this one is
    // chosen only for views of `N` 64-bit integers.
    unsafe { fetch_store::store_long::<Portable, N, BYTES>(&*view, &*args) }
}

#[base::code_fn]
unsafe extern "code" fn atomic_halves(view: *const ImageView, _: *const Sampler, args: *mut ImageArgs) {
    // SAFETY: a kernel is called with a valid view and a filled argument block; this one is
    // chosen only for aligned views of two halves.
    unsafe { fetch_store::atomic_halves::<Portable>(&*view, &mut *args) }
}

#[base::code_fn]
unsafe extern "code" fn atomic_four_halves(view: *const ImageView, _: *const Sampler, args: *mut ImageArgs) {
    // SAFETY: a kernel is called with a valid view and a filled argument block; this one is
    // chosen only for aligned views of four halves.
    unsafe { fetch_store::atomic_four_halves::<Portable>(&*view, &mut *args) }
}

/// Returns zeros, for null views and for operations that a view does not support.
///
/// # Safety
/// `args` points to arguments that no other thread accesses during the call.
#[base::code_fn]
pub unsafe extern "code" fn nothing(_: *const ImageView, _: *const Sampler, args: *mut ImageArgs) {
    // SAFETY: a kernel is called with a filled argument block.
    unsafe { ((*args).result, (*args).result_high) = ([[0; MAX_LANES]; 4], [[0; MAX_LANES]; 4]) };
}

/// The [`PairKernel`] of views that are not sampled in pairs; it does nothing.
#[base::code_fn]
pub unsafe extern "code" fn no_pair(
    _: *const [*const ImageView; 2],
    _: *const Sampler,
    _: *mut ImageArgs,
    _: *mut bool,
) {
}

/// The [`ChunksKernel`] of views without another one, which samples chunk by chunk.
#[base::code_fn]
pub unsafe extern "code" fn one_by_one(
    view: *const ImageView,
    sampler: *const Sampler,
    args: *mut ImageArgs,
    coords: *const f32,
    results: *mut u32,
    chunks: u32,
) {
    // SAFETY: a kernel is called with a valid view and sampler, a filled argument block and
    // `chunks` chunks of rows.
    unsafe {
        ChunkRows::new(coords, results, chunks, (*args).row_lanes).one_by_one(
            view,
            sampler,
            args,
            kernel_of(view, sampler),
        )
    }
}

type Kernels = [ImageKernel; KERNEL_COUNT];

/// The [`TapsKernel`] of views without texels, or without such kernels; it returns zeros.
#[base::code_fn]
pub unsafe extern "code" fn no_taps(_: *const ImageView, taps: *mut Taps, first: u32, count: u32) {
    for i in first as usize..(first + count) as usize {
        // SAFETY: a kernel is called with a writable `Taps`.
        unsafe { (&raw mut (*taps).texels[i % TAPS]).write([[0; MAX_LANES]; 4]) };
    }
    // SAFETY: a kernel is called with a writable `Taps`.
    unsafe { (*taps).varying = 0 };
}

/// Returns the kernels of class `T`, and the one that reads its texels.
fn general_set<T: Texels>(level: SimdLevel) -> ClassKernels {
    let mut set: Kernels = [vector_kernel(level); KERNEL_COUNT];
    set[KERNEL_FETCH] = fetch_kernel::<T>(level);
    set[KERNEL_STORE] = store_kernel::<T>(level);
    set[KERNEL_ATOMIC] = nothing;
    set[KERNEL_RESIDENT] = all_resident;
    (set, taps_kernel::<T>(level))
}

/// Returns the kernels of a class of float texels.
fn planar_set<T: Texels>(level: SimdLevel) -> ClassKernels {
    let (mut set, taps) = general_set::<T>(level);
    set[KERNEL_SAMPLE + sampler_class::NEAREST as usize] = match T::HAS_512_NEAREST && level.has_512() {
        true => plain_kernel::<T, false>(level),
        false => planar_kernel::<T, false, false>(level),
    };
    let [linear, anisotropic] = match T::FOUR {
        Some(_) if level.has_512() => [plain_kernel::<T, true>(level), probes_kernel::<T>(level)],
        Some(_) => [wide_kernel::<T, false>(level), wide_kernel::<T, true>(level)],
        None => [planar_kernel::<T, true, false>(level), planar_kernel::<T, true, true>(level)],
    };
    set[KERNEL_SAMPLE + sampler_class::LINEAR as usize] = linear;
    set[KERNEL_SAMPLE + sampler_class::ANISOTROPIC as usize] = anisotropic;
    (set, taps)
}

/// Returns the kernels of a float format.
fn float<const ROW: usize, const RAW: bool>(level: SimdLevel) -> ClassKernels {
    planar_set::<PlainClass<ROW, RAW>>(level)
}

/// Returns the kernels of an integer format, which is not filtered.
fn integer<const ROW: usize>(level: SimdLevel) -> ClassKernels {
    let (mut set, taps) = general_set::<PlainClass<ROW, false>>(level);
    set[KERNEL_SAMPLE + sampler_class::NEAREST as usize] = planar_kernel::<PlainClass<ROW, false>, false, false>(level);
    set[KERNEL_SAMPLE + sampler_class::LINEAR as usize] = planar_kernel::<PlainClass<ROW, false>, false, false>(level);
    (set, taps)
}

/// Returns the kernels of compressed formats whose texels are decoded to those of row `ROW`, with
/// `WORDS` words.
fn blocks<const ROW: usize, const WORDS: usize, const RAW: bool>(level: SimdLevel) -> ClassKernels {
    planar_set::<CompressedClass<ROW, WORDS, RAW>>(level)
}

/// The kernels of a class, and the one that reads its texels.
pub type ClassKernels = (Kernels, TapsKernel);

type ClassConstructor = fn(SimdLevel) -> ClassKernels;

/// The classes of compressed formats, by the format of their decoded texels.
const DECODED: &[(&[&str], ClassConstructor)] = &[
    (&["R8G8B8A8_UNORM"], blocks::<{ row("R8G8B8A8_UNORM") }, 1, true>),
    (&["R8G8B8A8_SRGB"], blocks::<{ row("R8G8B8A8_SRGB") }, 1, false>),
    (&["R32_SFLOAT"], blocks::<{ row("R32_SFLOAT") }, 1, false>),
    (&["R32G32_SFLOAT"], blocks::<{ row("R32G32_SFLOAT") }, 2, false>),
    (&["R16G16B16A16_SFLOAT"], blocks::<{ row("R16G16B16A16_SFLOAT") }, 2, false>),
];

/// Formats with a separate class: names of formats whose texels are all like those of the last
/// one's row.
const CLASSES: &[(&[&str], ClassConstructor)] = &[
    (&["A8B8G8R8_UNORM_PACK32", "R8G8B8A8_UNORM"], float::<{ row("R8G8B8A8_UNORM") }, true>),
    (&["B8G8R8A8_UNORM"], float::<{ row("B8G8R8A8_UNORM") }, true>),
    (&["A8B8G8R8_SRGB_PACK32", "R8G8B8A8_SRGB"], float::<{ row("R8G8B8A8_SRGB") }, false>),
    (&["B8G8R8A8_SRGB"], float::<{ row("B8G8R8A8_SRGB") }, false>),
    (&["R8_UNORM"], float::<{ row("R8_UNORM") }, true>),
    (&["D32_SFLOAT", "R32_SFLOAT"], float::<{ row("R32_SFLOAT") }, false>),
    (&["R32G32B32A32_SFLOAT"], float::<{ row("R32G32B32A32_SFLOAT") }, false>),
    (&["R16G16B16A16_SFLOAT"], float::<{ row("R16G16B16A16_SFLOAT") }, false>),
    (&["R8G8_UNORM"], float::<{ row("R8G8_UNORM") }, false>),
    (&["A8B8G8R8_SNORM_PACK32", "R8G8B8A8_SNORM"], float::<{ row("R8G8B8A8_SNORM") }, false>),
    (&["D16_UNORM", "R16_UNORM"], float::<{ row("R16_UNORM") }, false>),
    (&["R16G16_UNORM"], float::<{ row("R16G16_UNORM") }, false>),
    (&["R10X6_UNORM_PACK16"], float::<{ row("R10X6_UNORM_PACK16") }, false>),
    (&["R10X6G10X6_UNORM_2PACK16"], float::<{ row("R10X6G10X6_UNORM_2PACK16") }, false>),
    (&["R12X4_UNORM_PACK16"], float::<{ row("R12X4_UNORM_PACK16") }, false>),
    (&["R12X4G12X4_UNORM_2PACK16"], float::<{ row("R12X4G12X4_UNORM_2PACK16") }, false>),
    (&["R16G16B16A16_UNORM"], float::<{ row("R16G16B16A16_UNORM") }, false>),
    (&["R16_SFLOAT"], float::<{ row("R16_SFLOAT") }, false>),
    (&["R16G16_SFLOAT"], float::<{ row("R16G16_SFLOAT") }, false>),
    (&["R32G32_SFLOAT"], float::<{ row("R32G32_SFLOAT") }, false>),
    (&["B10G11R11_UFLOAT_PACK32"], float::<{ row("B10G11R11_UFLOAT_PACK32") }, false>),
    (&["E5B9G9R9_UFLOAT_PACK32"], float::<{ row("E5B9G9R9_UFLOAT_PACK32") }, false>),
    (&["A2B10G10R10_UNORM_PACK32"], float::<{ row("A2B10G10R10_UNORM_PACK32") }, false>),
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

/// Fetch and store of 64-bit integers, by their number in a texel.
const LONG: [[ImageKernel; 2]; 5] = [
    [nothing; 2],
    [fetch_long::<1, 8>, store_long::<1, 8>],
    [fetch_long::<2, 16>, store_long::<2, 16>],
    [fetch_long::<3, 24>, nothing],
    [fetch_long::<4, 32>, store_long::<4, 32>],
];

/// Returns the kernels of views that are not sampled: those of 64-bit integers, or those without
/// operations.
fn unsampled(format: Format) -> ClassKernels {
    let mut set: Kernels = [nothing; KERNEL_COUNT];
    [set[KERNEL_FETCH], set[KERNEL_STORE]] = LONG[usize::from(format.long_integers())];
    if format.long_integers() == 1 {
        set[KERNEL_ATOMIC] = atomic_long;
    }
    set[KERNEL_RESIDENT] = all_resident;
    (set, no_taps)
}

/// Returns the kernels of views of a plane's format (`Format::of_aspect`), for hosts of a level,
/// and the one that reads its texels.
pub fn kernels_of(format: Format, level: SimdLevel) -> ClassKernels {
    let info = format.info();
    if info.image_features | info.buffer_features == 0 || format.has_parts() || format.long_integers() != 0 {
        return unsampled(format);
    }
    let (classes, name) = match format.is_compressed() {
        true => (DECODED, base::format::plain(format).info().name),
        false => (CLASSES, info.name),
    };
    let (mut set, taps) = match classes.iter().find(|(names, _)| names.contains(&name)) {
        Some((_, kernels)) => kernels(level),
        None if format.is_integer() => general_set::<AnyClass>(level),
        None => planar_set::<AnyClass>(level),
    };
    if format.is_compressed() {
        set[KERNEL_STORE] = nothing;
    }
    match info.name {
        "R32_UINT" | "R32_SINT" | "R32_SFLOAT" => set[KERNEL_ATOMIC] = atomic,
        "R16G16_SFLOAT" => set[KERNEL_ATOMIC] = atomic_halves,
        "R16G16B16A16_SFLOAT" => set[KERNEL_ATOMIC] = atomic_four_halves,
        _ => {}
    }
    (set, taps)
}

type LevelConstructor<K> = fn(SimdLevel) -> K;

/// The kernels of a class for two views and for many chunks.
type JointKernels = (LevelConstructor<PairKernel>, LevelConstructor<ChunksKernel>);

/// Returns the kernels for the texels of a row.
const fn joint<const ROW: usize, const RAW: bool>() -> JointKernels {
    (pair_kernel::<PlainClass<ROW, RAW>>, chunks_kernel::<PlainClass<ROW, RAW>>)
}

/// Formats with a kernel for many chunks. On hosts with the 512-bit level, most of them are also
/// sampled in pairs of views.
const JOINT: &[(&str, JointKernels)] = &[
    ("R8G8B8A8_UNORM", joint::<{ row("R8G8B8A8_UNORM") }, true>()),
    ("A8B8G8R8_UNORM_PACK32", joint::<{ row("R8G8B8A8_UNORM") }, true>()),
    ("B8G8R8A8_UNORM", joint::<{ row("B8G8R8A8_UNORM") }, true>()),
    ("R8G8B8A8_SRGB", joint::<{ row("R8G8B8A8_SRGB") }, false>()),
    ("A8B8G8R8_SRGB_PACK32", joint::<{ row("R8G8B8A8_SRGB") }, false>()),
    ("B8G8R8A8_SRGB", joint::<{ row("B8G8R8A8_SRGB") }, false>()),
    ("R16G16B16A16_SFLOAT", joint::<{ row("R16G16B16A16_SFLOAT") }, false>()),
    ("B10G11R11_UFLOAT_PACK32", joint::<{ row("B10G11R11_UFLOAT_PACK32") }, false>()),
    ("R8_UNORM", alone::<{ row("R8_UNORM") }, true>()),
    ("R8G8_UNORM", alone::<{ row("R8G8_UNORM") }, false>()),
    ("R16_UNORM", alone::<{ row("R16_UNORM") }, false>()),
    ("R16G16_UNORM", alone::<{ row("R16G16_UNORM") }, false>()),
    ("R10X6_UNORM_PACK16", alone::<{ row("R10X6_UNORM_PACK16") }, false>()),
    ("R10X6G10X6_UNORM_2PACK16", alone::<{ row("R10X6G10X6_UNORM_2PACK16") }, false>()),
    ("R12X4_UNORM_PACK16", alone::<{ row("R12X4_UNORM_PACK16") }, false>()),
    ("R12X4G12X4_UNORM_2PACK16", alone::<{ row("R12X4G12X4_UNORM_2PACK16") }, false>()),
];

/// Returns the kernels of a row whose views are not sampled in pairs.
const fn alone<const ROW: usize, const RAW: bool>() -> JointKernels {
    (none_for_two, chunks_kernel::<PlainClass<ROW, RAW>>)
}

/// Returns the pair kernel that does nothing.
const fn none_for_two(_: SimdLevel) -> PairKernel {
    no_pair
}

/// Kernels of compressed formats, by the format of their decoded texels.
const DECODED_JOINT: &[(&str, JointKernels)] = &[
    ("R8G8B8A8_UNORM", (none_for_two, chunks_kernel::<CompressedClass<{ row("R8G8B8A8_UNORM") }, 1, true>>)),
    ("R8G8B8A8_SRGB", (none_for_two, chunks_kernel::<CompressedClass<{ row("R8G8B8A8_SRGB") }, 1, false>>)),
    ("R16G16B16A16_SFLOAT", (none_for_two, chunks_kernel::<CompressedClass<{ row("R16G16B16A16_SFLOAT") }, 2, false>>)),
];

/// Returns the kernels of views of a plane's format for two views and for many chunks, for hosts of
/// a level.
pub fn joint_of(format: Format, level: SimdLevel) -> (PairKernel, ChunksKernel) {
    let (table, texels) = match format.is_compressed() {
        true => (DECODED_JOINT, base::format::plain(format)),
        false => (JOINT, format),
    };
    // The baseline of several levels has no such kernels (see `Host::IS_BASELINE`).
    let has = level > SimdLevel::Portable || !cfg!(target_arch = "x86_64");
    let found = table.iter().find(|(name, _)| has && *name == texels.info().name);
    found.map_or((no_pair, one_by_one), |(_, (pair, chunks))| {
        (if level.has_512() { pair(level) } else { no_pair }, chunks(level))
    })
}
