//! The kernels that generated code calls, which are compiled for every level of the host, and the
//! choice of a view's kernels.

use super::chunk_batch::{ChunkRows, kernel_of};
use super::compressed::CompressedClass;
use super::lanes8::{sample_2d, sample_2d_batch, sample_any};
use super::memory::{ValidView, ViewKernel};
use super::sampler_class;
use super::slice::Slice;
use super::sparse::{self, SparseClass};
use super::taps::{TapRequest, TapSlice};
use super::texel::{AnyClass, PlainClass, Texels};
use super::{fetch_store, scalar};
use base::abi::{
    ChunksKernel, ImageArgs, ImageKernel, ImageView, KERNEL_ATOMIC, KERNEL_COUNT, KERNEL_FETCH, KERNEL_RESIDENT,
    KERNEL_SAMPLE, KERNEL_STORE, MAX_LANES, PairKernel, Sampler, Taps, TapsKernel,
};
use base::format::Format;
use base::format::lanes::{FilterTexel, row};
use base::host::{Host, Ints, Portable, SimdLevel};
use std::hint::black_box;

/// Defines kernels that are compiled for every level of the host, whose bodies are safe: they see
/// the token of the level, the view as a [`ValidView`], the sampler as an `Option` and the
/// arguments. The body's host is `H`.
macro_rules! kernels {
    ($(
        $(#[$doc:meta])*
        $vis:vis $(for $avx512:ident)? fn $name:ident $([$($generics:tt)*] [$($names:tt)*])?
            ($host:ident, $view:ident, $sampler:ident, $args:ident) $body:block
    )*) => {
        base::multiversion! {$(
            $(#[$doc])*
            $vis $(for $avx512)? unsafe extern "code" fn $name $([$($generics)*] [$($names)*])?
                (view: *const ImageView, sampler: *const Sampler, args: *mut ImageArgs) {
                #[inline(always)]
                fn body<H: base::host::Host $(, $($generics)*)?>
                    ($host: H, $view: $crate::memory::ValidView<'_>, $sampler: Option<&Sampler>, $args: &mut ImageArgs) $body
                // A kernel is called with a valid view, a valid sampler or none, and a filled
                // argument block.
                body::<H $(, $($names)*)?>(HOST, $crate::memory::ValidView::new(view), sampler.as_ref(), &mut *args);
            }
        )*}
    };
}

/// Defines [`kernels!`] that do nothing without a sampler, and see it as a reference.
macro_rules! sampling_kernels {
    ($(
        $(#[$doc:meta])*
        $vis:vis $(for $avx512:ident)? fn $name:ident $([$($generics:tt)*] [$($names:tt)*])?
            ($host:ident, $view:ident, $sampler:ident, $args:ident) $body:block
    )*) => {
        $crate::kernels::kernels! {$(
            $(#[$doc])*
            $vis $(for $avx512)? fn $name $([$($generics)*] [$($names)*])? ($host, $view, $sampler, $args) {
                let Some($sampler) = $sampler else { return };
                $body
            }
        )*}
    };
}

/// Defines kernels that are compiled once, and otherwise are like [`kernels!`].
macro_rules! plain_kernels {
    ($(
        $(#[$doc:meta])*
        $vis:vis fn $name:ident $([$($generics:tt)*])? ($view:ident, $sampler:ident, $args:ident) $body:block
    )*) => {$(
        $(#[$doc])*
        #[base::code_fn]
        $vis unsafe extern "code" fn $name $(<$($generics)*>)?
            (view: *const ImageView, sampler: *const Sampler, args: *mut ImageArgs) {
            // SAFETY: a kernel is called with a valid view, a valid sampler or none, and a filled
            // argument block.
            let arguments = unsafe { ($crate::memory::ValidView::new(view), sampler.as_ref(), &mut *args) };
            let ($view, $sampler, $args) = arguments;
            $body
        }
    )*};
}

pub(super) use {kernels, plain_kernels, sampling_kernels};

/// Returns a kernel of the token's level; the function is one that [`kernels!`] defined.
#[inline(always)]
fn on<H: Host>(_: H, kernel: impl Fn(SimdLevel) -> ImageKernel) -> ViewKernel {
    // SAFETY: the kernel is one of this crate for a level that the host has, because the token
    // exists.
    unsafe { ViewKernel::new(kernel(H::LEVEL)) }
}

/// Returns a kernel of the token's level as [`on`] does, which callers do not inline.
#[inline(always)]
fn apart<H: Host>(host: H, kernel: impl Fn(SimdLevel) -> ImageKernel) -> ViewKernel {
    black_box(on(host, kernel))
}

kernels! {
    /// Stores texels at the baseline of several levels, where classes share the code.
    fn shared_store [T: Texels] [T] (host, view, _sampler, args) {
        fetch_store::store::<H, T>(host, view, args);
    }
    /// Fetches texels without a filter (`OpImageFetch`, `OpImageRead`).
    fn fetch_kernel [T: Texels] [T] (host, view, _sampler, args) {
        fetch_store::fetch::<H, T>(host, view, args);
    }
    /// Stores texels (`OpImageWrite`).
    fn store_kernel [T: Texels] [T] (host, view, sampler, args) {
        if H::IS_BASELINE {
            return on(host, shared_store::<T::Shared>).call(view, sampler, args);
        }
        fetch_store::store::<H, T>(host, view, args);
    }
}

sampling_kernels! {
    /// Samples images with cells, with any sampler.
    fn general_kernel (_host, view, sampler, args) {
        scalar::sample::<SparseClass>(view, sampler, args);
    }
    /// Samples all other images, with any sampler.
    fn vector_kernel (host, view, sampler, args) {
        sample_any::sample(host, view, sampler, args);
    }
    /// Samples with samplers of the plain classes, and of the anisotropic class.
    fn planar_kernel [T: Texels, const LINEAR: bool, const PROBES: bool] [T, LINEAR, PROBES] (host, view, sampler, args) {
        if PROBES && H::IS_BASELINE {
            return on(host, shared_probes::<T::Shared>).call(view, Some(sampler), args);
        }
        sample_2d::sample::<H, T, LINEAR, PROBES>(host, view, sampler, args);
    }
    /// Takes anisotropic samples at the baseline of several levels, where classes share the code.
    fn shared_probes [T: Texels] [T] (host, view, sampler, args) {
        sample_2d::sample::<H, T, true, true>(host, view, sampler, args);
    }
    /// Samples as `planar_kernel` does, for classes that are filtered in 512-bit vectors, with or
    /// without anisotropy.
    for Avx512 fn wide_kernel [T: Texels, const PROBES: bool] [T, PROBES] (host, view, sampler, args) {
        if PROBES && H::IS_BASELINE {
            return on(host, shared_probes::<T::Shared>).call(view, Some(sampler), args);
        }
        sample_2d::sample::<H, T, true, PROBES>(host, view, sampler, args);
    }
    /// Takes the most frequent samples of one level, with few registers. All others are left to the
    /// next kernel, which must not be inlined here.
    for Avx512 fn plain_kernel [T: Texels, const LINEAR: bool] [T, LINEAR] (host, view, sampler, args) {
        if !T::sample::<H, LINEAR, false>(host, view, sampler, args) {
            apart(host, mips_kernel::<T, LINEAR>).call(view, Some(sampler), args);
        }
    }
    /// Takes the most frequent samples of several levels. All others are left to the kernels for
    /// any samples.
    for Avx512 fn mips_kernel [T: Texels, const LINEAR: bool] [T, LINEAR] (host, view, sampler, args) {
        if !T::sample::<H, LINEAR, true>(host, view, sampler, args) {
            let any = match LINEAR {
                true => apart(host, wide_kernel::<T, false>),
                false => apart(host, planar_kernel::<T, false, false>),
            };
            any.call(view, Some(sampler), args);
        }
    }
    /// Takes the most frequent anisotropic samples, and leaves all others to the kernel for any
    /// samples.
    for Avx512 fn probes_kernel [T: Texels] [T] (host, view, sampler, args) {
        if !T::anisotropic(host, view, sampler, args) {
            apart(host, wide_kernel::<T, true>).call(view, Some(sampler), args);
        }
    }
}

base::multiversion! {
    /// Reads texels of a class ([`TapsKernel`]).
    unsafe extern "code" fn taps_kernel [T: Texels] [T] (view: *const ImageView, taps: *mut Taps, first: u32, count: u32) {
        if H::IS_BASELINE {
            return shared_taps::<T::Shared>(H::LEVEL)(view, taps, first, count);
        }
        read_taps::<H, T>(HOST, ValidView::new(view), TapRequest::new(taps, first, count));
    }
    /// Reads texels at the baseline of several levels, where classes share the code.
    unsafe extern "code" fn shared_taps [T: Texels] [T] (view: *const ImageView, taps: *mut Taps, first: u32, count: u32) {
        read_taps::<H, T>(HOST, ValidView::new(view), TapRequest::new(taps, first, count));
    }
    /// Takes the most frequent samples of one level of two views, one for each quad.
    for Avx512 unsafe extern "code" fn pair_kernel [T: Texels] [T]
        (views: *const [*const ImageView; 2], sampler: *const Sampler, args: *mut ImageArgs, done: *mut bool) {
        let views = [ValidView::new((*views)[0]), ValidView::new((*views)[1])];
        *done = sample_pair::<H, T>(HOST, views, &*sampler, &mut *args);
    }
    /// Samples many chunks.
    for Avx512 unsafe extern "code" fn chunks_kernel [T: Texels] [T]
        (view: *const ImageView, sampler: *const Sampler, args: *mut ImageArgs, coords: *const f32, results: *mut u32, chunks: u32) {
        let rows = &mut ChunkRows::new(coords, results, chunks, (*args).row_lanes);
        sample_chunks::<H, T>(HOST, ValidView::new(view), &*sampler, &mut *args, rows);
    }
}

/// Samples one level of two views. Returns false if nothing was sampled.
#[inline(always)]
fn sample_pair<H: Host, T: Texels>(
    host: H,
    views: [ValidView<'_>; 2],
    sampler: &Sampler,
    args: &mut ImageArgs,
) -> bool {
    match sampler.class {
        sampler_class::NEAREST if T::HAS_512_NEAREST => T::sample_pair::<H, false>(host, views, sampler, args),
        sampler_class::LINEAR => T::sample_pair::<H, true>(host, views, sampler, args),
        _ => false,
    }
}

/// Samples many chunks by the loop of the sampler's class, or else one by one.
#[inline(always)]
fn sample_chunks<H: Host, T: Texels>(
    host: H,
    view: ValidView<'_>,
    sampler: &Sampler,
    args: &mut ImageArgs,
    rows: &mut ChunkRows<'_>,
) {
    let any = kernel_of(view, sampler);
    if !H::HAS_512 && !H::IS_BASELINE {
        return match sampler.class {
            _ if is_rare::<T>() => rows.one_by_one(view, sampler, args, any),
            sampler_class::NEAREST => {
                sample_2d_batch::sample_chunks::<H, T, false>(host, view, sampler, args, rows, any);
            }
            sampler_class::LINEAR => {
                sample_2d_batch::sample_chunks::<H, T, true>(host, view, sampler, args, rows, any);
            }
            _ => rows.one_by_one(view, sampler, args, any),
        };
    }
    match sampler.class {
        sampler_class::NEAREST if T::HAS_512_NEAREST => {
            let others = apart(host, planar_kernel::<T, false, false>);
            T::sample_chunks::<H, false>(host, view, sampler, args, rows, [any, others]);
        }
        sampler_class::LINEAR => {
            let others = apart(host, wide_kernel::<T, false>);
            T::sample_chunks::<H, true>(host, view, sampler, args, rows, [any, others]);
        }
        sampler_class::ANISOTROPIC => {
            let others = apart(host, wide_kernel::<T, true>);
            T::anisotropic_chunks(host, view, sampler, args, rows, [any, others]);
        }
        _ => rows.one_by_one(view, sampler, args, any),
    }
}

/// Reads texels of a class.
#[inline(always)]
fn read_taps<H: Host, T: Texels>(host: H, view: ValidView<'_>, mut taps: TapRequest<'_>) {
    let TapSlice { offset, pitch, size, mask } = taps.slice();
    let slice = Slice { memory: view.memory(offset), pitch, size, mask };
    let mut varying = 0;
    for c in 0..4 {
        varying |= u32::from(T::HAS[c]) << c;
    }
    taps.set_varying(varying);
    let (mut i, end) = (taps.range().start, taps.range().end);
    while i < end {
        let [x, y] = taps.place::<H>(i);
        if i + 4 <= end {
            // A footprint of neighbours needs fewer loads.
            let ([right, same_row], [left, below], [right_below, same_below]) =
                (taps.place::<H>(i + 1), taps.place::<H>(i + 2), taps.place::<H>(i + 3));
            let columns = (x + H::Ints::splat(1)).equal(right) & left.equal(x) & right_below.equal(right);
            if (columns & same_row.equal(y) & same_below.equal(below)).movemask() == (1 << MAX_LANES) - 1 {
                let words = T::adjacent(host, view, &slice, [x, right], [y, below]);
                for (k, words) in words.iter().enumerate() {
                    taps.give::<H>(i + k, T::components::<H::Ints, false>(words));
                }
                i += 4;
                continue;
            }
        }
        taps.give::<H>(i, T::components::<H::Ints, false>(&T::words(host, view, &slice, x, y)));
        i += 1;
    }
}

/// Returns true for texels of planes of ten or twelve bits. Only hosts with the 512-bit level have
/// a loop for them, to keep the library small.
const fn is_rare<T: Texels>() -> bool {
    matches!(T::FOUR, Some(FilterTexel::Narrow(few)) if few.bits % 8 != 0)
}

plain_kernels! {
    /// Accesses one texel per lane of images with cells.
    fn sparse_kernel [const KERNEL: usize] (view, _sampler, args) {
        sparse::access::<KERNEL>(view, args);
    }
    /// Reports the residency of texels of sparse resources.
    pub fn resident (view, sampler, args) {
        sparse::resident(view, sampler, args);
    }
    /// Executes atomics on aligned 32-bit views.
    fn atomic (view, _sampler, args) {
        fetch_store::atomic(Portable::assume(), view, args);
    }
    /// Executes atomics on aligned 64-bit views.
    fn atomic_long (view, _sampler, args) {
        fetch_store::atomic_long(Portable::assume(), view, args);
    }
    /// Fetches texels of `N` 64-bit integers.
    fn fetch_long [const N: usize, const BYTES: usize] (view, _sampler, args) {
        fetch_store::fetch_long::<Portable, N, BYTES>(Portable::assume(), view, args);
    }
    /// Stores texels of `N` 64-bit integers.
    fn store_long [const N: usize, const BYTES: usize] (view, _sampler, args) {
        fetch_store::store_long::<Portable, N, BYTES>(Portable::assume(), view, args);
    }
    /// Executes atomics on aligned views of two halves.
    fn atomic_halves (view, _sampler, args) {
        fetch_store::atomic_halves(Portable::assume(), view, args);
    }
    /// Executes atomics on aligned views of four halves.
    fn atomic_four_halves (view, _sampler, args) {
        fetch_store::atomic_four_halves(Portable::assume(), view, args);
    }
    /// Reports all texels as resident, for views that have all of their memory.
    fn all_resident (_view, _sampler, args) {
        args.result[0] = [1; MAX_LANES];
    }
    /// Returns zeros, for null views and for operations that a view does not support.
    ///
    /// # Safety
    /// The view is valid, and `args` points to arguments that no other thread accesses during the
    /// call.
    pub fn nothing (_view, _sampler, args) {
        (args.result, args.result_high) = ([[0; MAX_LANES]; 4], [[0; MAX_LANES]; 4]);
    }
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
    let (view, sampler, args, rows) = unsafe {
        let rows = ChunkRows::new(coords, results, chunks, (*args).row_lanes);
        (ValidView::new(view), &*sampler, &mut *args, rows)
    };
    rows.one_by_one(view, sampler, args, kernel_of(view, sampler));
}

type Kernels = [ImageKernel; KERNEL_COUNT];

/// The [`TapsKernel`] of views without texels, or without such kernels; it returns zeros.
#[base::code_fn]
pub unsafe extern "code" fn no_taps(_: *const ImageView, taps: *mut Taps, first: u32, count: u32) {
    // SAFETY: a kernel is called with a writable `Taps`, whose texels have places.
    let mut taps = unsafe { TapRequest::new(taps, first, count) };
    for i in taps.range() {
        taps.give::<Portable>(i, [Ints::splat(0); 4]);
    }
    taps.set_varying(0);
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
