//! Reading and writing texels: one type per texel class, so that kernels are straight code for the common formats.
//!
//! Loads and stores never check: callers pass coordinates inside the level. What is read may change under us (the application
//! shares the memory), so every load is a copy of the texel's bytes and any bytes are a valid texel.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::chunks::ChunkRows;
use super::slice::Slice;
use super::window;
use super::words::{self, Words};
#[cfg(target_arch = "x86_64")]
use super::{anisotropic, axes, in_image, whole, wide};
use base::abi::{ImageArgs, ImageKernel, ImageView, MAX_LANES, Sampler};
use base::format::lanes::{Four, Lanes};
use base::format::{Format, Row, Texel, kernels};
use base::host::{Host, Ints};

/// A texel class. Texels come as four words, of which components are made when they are wanted.
pub trait Texels: Sized {
    /// Components may be had as integers from 0 to 255, so that filters divide once, at the end.
    const SCALED: bool = false;
    /// Components are integers.
    const INTEGER: bool = false;
    /// Levels of the view may be cut into cells.
    const IN_CELLS: bool = false;
    /// Which components are not the same in every texel.
    const HAS: [bool; 4] = [true; 4];
    /// What filters of hosts that are [`Host::WIDE`] know of the texels, if they have any: [`Texels::bilinear`] and all that gives whole samples. Integers if [`Texels::SCALED`].
    const FOUR: Option<Four> = None;
    /// And have these hosts also a way for texels that no filter changes?
    const WIDE_NEAREST: bool = false;
    /// Where such filters have the texels from.
    #[cfg(target_arch = "x86_64")]
    type Source: axes::Source;
    /// The class that has the same texels and others, with the same components: for what is rare.
    type Shared: Texels;

    /// The texel at (x, y) of the slice that begins at `slice`.
    ///
    /// # Safety
    /// (x, y) lies inside the slice, whose rows are `row_pitch` bytes apart, and the view's format belongs to the class.
    unsafe fn texel(view: &ImageView, slice: *const u8, row_pitch: u64, x: u32, y: u32) -> Texel;

    /// The words of all lanes' texels. Of lanes that are not wanted: anything.
    ///
    /// # Safety
    /// (x, y) lie inside the slice (all lanes, wanted or not), and the view's format belongs to the class. The host is `H`.
    #[inline(always)]
    unsafe fn words<H: Host>(view: &ImageView, slice: &Slice, x: H::Ints, y: H::Ints) -> Words<H> {
        let (x, y) = (x.lanes(), y.lanes());
        let mut texels = [[0; 4]; MAX_LANES];
        for i in 0..MAX_LANES {
            if slice.wants(i) {
                // SAFETY: the caller's promise.
                texels[i] = unsafe { Self::texel(view, slice.base, u64::from(slice.pitch), x[i], y[i]) };
            }
        }
        // SAFETY: the caller's promise.
        unsafe { words::transpose::<H>(&texels) }
    }

    /// The words as [`Texels::words`] gives them, for lanes that are mostly neighbours.
    ///
    /// # Safety
    /// As for `words`.
    #[inline(always)]
    unsafe fn neighbours<H: Host>(view: &ImageView, slice: &Slice, x: H::Ints, y: H::Ints) -> Words<H> {
        // SAFETY: the caller's promise.
        unsafe { Self::words::<H>(view, slice, x, y) }
    }

    /// Asks for the memory of what is sampled next.
    #[inline(always)]
    fn prefetch<H: Host, const ROWS: usize>(_slice: &Slice, _x: H::Ints, _y: H::Ints) {}

    /// The words at both `x` of the first and of the second `y`.
    ///
    /// # Safety
    /// As for `words`, for all of them.
    #[inline(always)]
    unsafe fn footprint<H: Host>(view: &ImageView, slice: &Slice, x: [H::Ints; 2], y: [H::Ints; 2]) -> [Words<H>; 4] {
        // SAFETY: the caller's promise.
        unsafe {
            [
                Self::words::<H>(view, slice, x[0], y[0]),
                Self::words::<H>(view, slice, x[1], y[0]),
                Self::words::<H>(view, slice, x[0], y[1]),
                Self::words::<H>(view, slice, x[1], y[1]),
            ]
        }
    }

    /// The same where the second `x` of each lane is the first one's neighbour.
    ///
    /// # Safety
    /// As for `footprint`.
    #[inline(always)]
    unsafe fn adjacent<H: Host>(view: &ImageView, slice: &Slice, x: [H::Ints; 2], y: [H::Ints; 2]) -> [Words<H>; 4] {
        // SAFETY: the caller's promise.
        unsafe { Self::footprint::<H>(view, slice, x, y) }
    }

    /// The words at both `x` and both `y`, already filtered by the `weights` of the second ones, and as components: with `RAW` of a scaled class as
    /// integers, but in floats. None where there is no way that is better than one by one.
    ///
    /// # Safety
    /// As for `words`, for all of them.
    #[inline(always)]
    unsafe fn bilinear<H: Host, const RAW: bool>(
        _view: &ImageView,
        _slice: &Slice,
        _x: [H::Ints; 2],
        _y: [H::Ints; 2],
        _weights: [H::Floats; 2],
    ) -> Option<Words<H>> {
        None
    }

    /// The commonest samples, of one level or with `MIPS`, where there is a better way than one by one; false: nothing was done.
    ///
    /// # Safety
    /// As for `planar::sample`.
    #[inline(always)]
    unsafe fn sample<H: Host, const LINEAR: bool, const MIPS: bool>(
        view: &ImageView,
        sampler: &Sampler,
        args: &mut ImageArgs,
    ) -> bool {
        #[cfg(target_arch = "x86_64")]
        if H::WIDE && Self::FOUR.is_some() {
            // SAFETY: the caller's promise.
            return unsafe { whole::sample::<H, Of<Self, false>, LINEAR, MIPS>(view, sampler, args) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (view, sampler, args);
        false
    }

    /// The same of all chunks of a batch. What is not of one level, or not common at all, by the kernel for `any` samples, single chunks by that for all `others`.
    ///
    /// # Safety
    /// As for `planar::sample`, for each chunk; both are kernels of the view and the sampler's class.
    #[inline(always)]
    unsafe fn sample_chunks<H: Host, const LINEAR: bool>(
        view: &ImageView,
        sampler: &Sampler,
        args: &mut ImageArgs,
        rows: &mut ChunkRows,
        kernels: [ImageKernel; 2],
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            if H::WIDE && Self::FOUR.is_some() {
                return whole::sample_chunks::<Of<Self, false>, LINEAR>(view, sampler, args, rows, kernels);
            }
            rows.one_by_one(view, sampler, args, kernels[0]);
        }
    }

    /// The same of one level of two views, one for each four lanes.
    ///
    /// # Safety
    /// As for `planar::sample`, of both views.
    #[inline(always)]
    unsafe fn sample_pair<H: Host, const LINEAR: bool>(
        views: [&ImageView; 2],
        sampler: &Sampler,
        args: &mut ImageArgs,
    ) -> bool {
        #[cfg(target_arch = "x86_64")]
        if H::WIDE && Self::FOUR.is_some() {
            // SAFETY: the caller's promise.
            return unsafe { whole::sample_pair::<H, Of<Self, false>, LINEAR>(views, sampler, args) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (views, sampler, args);
        false
    }

    /// The same of an anisotropic sampler.
    ///
    /// # Safety
    /// As for `planar::sample`.
    #[inline(always)]
    unsafe fn anisotropic<H: Host>(view: &ImageView, sampler: &Sampler, args: &mut ImageArgs) -> bool {
        #[cfg(target_arch = "x86_64")]
        if H::WIDE && Self::FOUR.is_some() {
            // SAFETY: the caller's promise.
            unsafe {
                let mut done = false;
                anisotropic::sample(H::LEVEL)(
                    view,
                    sampler,
                    args,
                    anisotropic::probes_of::<Of<Self, true>>(H::LEVEL),
                    &mut done,
                );
                return done;
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (view, sampler, args);
        false
    }

    /// The same of all chunks of a batch, as [`Texels::sample_chunks`].
    ///
    /// # Safety
    /// As for [`Texels::sample_chunks`].
    #[inline(always)]
    unsafe fn anisotropic_chunks<H: Host>(
        view: &ImageView,
        sampler: &Sampler,
        args: &mut ImageArgs,
        rows: &mut ChunkRows,
        kernels: [ImageKernel; 2],
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            if H::WIDE && Self::FOUR.is_some() {
                let probes = anisotropic::probes_of::<Of<Self, true>>(H::LEVEL);
                return anisotropic::sample_chunks(H::LEVEL)(view, sampler, args, rows, probes, kernels);
            }
            rows.one_by_one(view, sampler, args, kernels[0]);
        }
    }

    /// Component `C` of words; with `RAW` of a scaled class as an integer, but in floats. With `QUIET` what is not a number may become a quiet one.
    #[inline(always)]
    fn component<V: Ints, const C: usize, const RAW: bool, const QUIET: bool>(words: &[V; 4]) -> V {
        words[C]
    }

    /// Has [`Texels::component`] something to gain of `QUIET`, and the same bits with it?
    #[inline(always)]
    fn is_quiet<V: Ints>(_words: &[V; 4]) -> bool {
        false
    }

    /// The components of texels that no filter changes.
    #[inline(always)]
    fn components<V: Ints, const RAW: bool>(words: &[V; 4]) -> [V; 4] {
        if Self::is_quiet(words) {
            components::<Self, V, RAW, true>(words)
        } else {
            components::<Self, V, RAW, false>(words)
        }
    }

    /// Writes the texels of the wanted lanes.
    ///
    /// # Safety
    /// As for `words`, and the view's memory may be written.
    unsafe fn store<V: Ints>(view: &ImageView, slice: &Slice, x: V, y: V, texels: &Lanes);
}

/// The kind of a class's samples; with `VALUES` unsigned normalised texels are filtered as values, not as integers.
#[cfg(target_arch = "x86_64")]
struct Of<T, const VALUES: bool>(core::marker::PhantomData<T>);

#[cfg(target_arch = "x86_64")]
impl<T: Texels, const VALUES: bool> axes::Kind for Of<T, VALUES> {
    const FOUR: Four = match T::FOUR {
        Some(four) if VALUES => four.raw(false),
        Some(four) => four,
        // A class without such filters is not sampled here.
        None => Four::Half,
    };
    type Source = T::Source;
}

#[inline(always)]
fn components<T: Texels, V: Ints, const RAW: bool, const QUIET: bool>(words: &[V; 4]) -> [V; 4] {
    [
        T::component::<V, 0, RAW, QUIET>(words),
        T::component::<V, 1, RAW, QUIET>(words),
        T::component::<V, 2, RAW, QUIET>(words),
        T::component::<V, 3, RAW, QUIET>(words),
    ]
}

/// Row `ROW` of the format table, and rows of the same bits. With `RAW` filters work on the integers that are stored.
pub struct Plain<const ROW: usize, const RAW: bool>;

impl<const ROW: usize, const RAW: bool> Plain<ROW, RAW> {
    /// Texels of `N` bytes.
    #[inline(always)]
    unsafe fn load<H: Host, const N: usize>(slice: &Slice, x: H::Ints, y: H::Ints) -> Words<H> {
        // SAFETY: the caller's promise: inside the view.
        unsafe { words::gather::<H, N>(slice.base, slice.offsets::<_, N>(x, y)) }
    }

    /// Neighbours of `N` bytes each, read as one.
    #[inline(always)]
    unsafe fn load_pairs<H: Host, const N: usize, const TWICE: usize>(
        slice: &Slice,
        x: H::Ints,
        y: H::Ints,
    ) -> [Words<H>; 2] {
        // SAFETY: the caller's promise: both inside the view, in one row.
        let both = unsafe { words::gather::<H, TWICE>(slice.base, slice.offsets::<_, N>(x, y)) };
        words::split::<_, N>(&both)
    }

    /// A footprint of neighbours.
    #[inline(always)]
    unsafe fn load_both<H: Host, const N: usize, const TWICE: usize>(
        slice: &Slice,
        x: H::Ints,
        y: [H::Ints; 2],
    ) -> [Words<H>; 4] {
        // SAFETY: the caller's promise.
        let [[a, b], [c, d]] = unsafe {
            [Self::load_pairs::<H, N, TWICE>(slice, x, y[0]), Self::load_pairs::<H, N, TWICE>(slice, x, y[1])]
        };
        [a, b, c, d]
    }

    #[inline(always)]
    unsafe fn put<V: Ints, const N: usize>(slice: &Slice, x: V, y: V, texels: &Lanes) {
        let (offset, words) = (slice.offsets::<_, N>(x, y), Row::<ROW>::pack_lanes(texels));
        // SAFETY: the caller's promise.
        unsafe { words::write::<N>(slice.base, &offset.lanes(), &words, slice.mask) };
    }
}

impl<const ROW: usize, const RAW: bool> Texels for Plain<ROW, RAW> {
    const SCALED: bool = RAW;
    const INTEGER: bool = Row::<ROW>::INTEGER;
    const HAS: [bool; 4] = Row::<ROW>::HAS;
    const FOUR: Option<Four> = Row::<ROW>::four(RAW);
    // Halves that are no numbers would become quiet.
    const WIDE_NEAREST: bool = matches!(Self::FOUR, Some(four) if four.words() == 1);
    #[cfg(target_arch = "x86_64")]
    type Source = in_image::InImage;
    type Shared = Any;

    #[inline(always)]
    unsafe fn texel(_: &ImageView, slice: *const u8, row_pitch: u64, x: u32, y: u32) -> Texel {
        let bytes = Row::<ROW>::BYTES;
        let mut block = [0; 16];
        let offset = u64::from(y) * row_pitch + u64::from(x) * bytes as u64;
        // SAFETY: a texel of `bytes` (at most 16) bytes inside the slice.
        unsafe { slice.add(offset as usize).copy_to_nonoverlapping(block.as_mut_ptr(), bytes) };
        Row::<ROW>::unpack_slice(&block)
    }

    #[inline(always)]
    unsafe fn words<H: Host>(_: &ImageView, slice: &Slice, x: H::Ints, y: H::Ints) -> Words<H> {
        // SAFETY: the caller's promise; the texels have that many bytes.
        unsafe {
            match const { common(Row::<ROW>::BYTES) } {
                1 => Self::load::<H, 1>(slice, x, y),
                2 => Self::load::<H, 2>(slice, x, y),
                4 => Self::load::<H, 4>(slice, x, y),
                8 => Self::load::<H, 8>(slice, x, y),
                _ => Self::load::<H, 16>(slice, x, y),
            }
        }
    }

    #[inline(always)]
    unsafe fn footprint<H: Host>(view: &ImageView, slice: &Slice, x: [H::Ints; 2], y: [H::Ints; 2]) -> [Words<H>; 4] {
        // SAFETY: the caller's promise; the texels have that many bytes.
        unsafe {
            if Row::<ROW>::BYTES == 1
                && let Some(words) = window::footprint::<H>(slice, x, y)
            {
                return words;
            }
            let adjacent = (x[0] + H::Ints::splat(1)).equal(x[1]).signs() == 0xff;
            match Row::<ROW>::BYTES {
                2 | 4 | 8 if adjacent => Self::adjacent::<H>(view, slice, x, y),
                _ => [
                    Self::words::<H>(view, slice, x[0], y[0]),
                    Self::words::<H>(view, slice, x[1], y[0]),
                    Self::words::<H>(view, slice, x[0], y[1]),
                    Self::words::<H>(view, slice, x[1], y[1]),
                ],
            }
        }
    }

    #[inline(always)]
    unsafe fn adjacent<H: Host>(view: &ImageView, slice: &Slice, x: [H::Ints; 2], y: [H::Ints; 2]) -> [Words<H>; 4] {
        // SAFETY: the caller's promise; the texels have that many bytes.
        unsafe {
            match Row::<ROW>::BYTES {
                2 => Self::load_both::<H, 2, 4>(slice, x[0], y),
                4 => Self::load_both::<H, 4, 8>(slice, x[0], y),
                8 => Self::load_both::<H, 8, 16>(slice, x[0], y),
                _ => Self::footprint::<H>(view, slice, x, y),
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn bilinear<H: Host, const R: bool>(
        _: &ImageView,
        slice: &Slice,
        x: [H::Ints; 2],
        y: [H::Ints; 2],
        weights: [H::Floats; 2],
    ) -> Option<Words<H>> {
        let four = Self::FOUR.filter(|four| H::WIDE && !matches!(four, Four::Few(_)))?;
        // SAFETY: the caller's promise.
        unsafe { wide::bilinear::<H>(four.raw(RAW && R), slice, x, y, weights) }
    }

    #[inline(always)]
    unsafe fn neighbours<H: Host>(view: &ImageView, slice: &Slice, x: H::Ints, y: H::Ints) -> Words<H> {
        // SAFETY: the caller's promise; the texels have that many bytes.
        unsafe {
            let near = match Row::<ROW>::BYTES {
                4 => window::neighbours::<H, 4>(slice, x, y),
                8 => window::neighbours::<H, 8>(slice, x, y),
                _ => None,
            };
            match near {
                Some(words) => words,
                None => Self::words::<H>(view, slice, x, y),
            }
        }
    }

    #[inline(always)]
    fn prefetch<H: Host, const ROWS: usize>(slice: &Slice, x: H::Ints, y: H::Ints) {
        match const { common(Row::<ROW>::BYTES) } {
            1 => slice.prefetch::<_, 1, ROWS>(x, y),
            2 => slice.prefetch::<_, 2, ROWS>(x, y),
            4 => slice.prefetch::<_, 4, ROWS>(x, y),
            8 => slice.prefetch::<_, 8, ROWS>(x, y),
            _ => slice.prefetch::<_, 16, ROWS>(x, y),
        }
    }

    #[inline(always)]
    fn component<V: Ints, const C: usize, const R: bool, const QUIET: bool>(words: &[V; 4]) -> V {
        if RAW && R {
            Row::<ROW>::component_lanes::<V, C, true, QUIET>(words)
        } else {
            Row::<ROW>::component_lanes::<V, C, false, QUIET>(words)
        }
    }

    #[inline(always)]
    fn is_quiet<V: Ints>(words: &[V; 4]) -> bool {
        Row::<ROW>::is_quiet(words)
    }

    #[inline(always)]
    unsafe fn store<V: Ints>(_: &ImageView, slice: &Slice, x: V, y: V, texels: &Lanes) {
        // SAFETY: the caller's promise; the texels have that many bytes.
        unsafe {
            match Row::<ROW>::BYTES {
                1 => Self::put::<V, 1>(slice, x, y, texels),
                2 => Self::put::<V, 2>(slice, x, y, texels),
                4 => Self::put::<V, 4>(slice, x, y, texels),
                8 => Self::put::<V, 8>(slice, x, y, texels),
                16 => Self::put::<V, 16>(slice, x, y, texels),
                _ => {}
            }
        }
    }
}

/// A number of bytes for which there is code. (Rows of others are of class [`Any`].)
const fn common(bytes: usize) -> usize {
    assert!(bytes.is_power_of_two() && bytes <= 16);
    bytes
}

/// Any format of one-texel blocks, through its unpack function.
pub struct Any;

impl Texels for Any {
    #[cfg(target_arch = "x86_64")]
    type Source = in_image::InImage;
    type Shared = Any;

    #[inline(always)]
    unsafe fn texel(view: &ImageView, slice: *const u8, row_pitch: u64, x: u32, y: u32) -> Texel {
        let kernels = kernels(Format(view.format as u16));
        let offset = u64::from(y) * row_pitch + u64::from(x) * kernels.bytes as u64;
        let mut block = [0; 16];
        // SAFETY: a texel of `bytes` (at most 16) bytes inside the slice.
        unsafe { slice.add(offset as usize).copy_to_nonoverlapping(block.as_mut_ptr(), kernels.bytes) };
        (kernels.unpack_one)(&block)
    }

    #[inline(always)]
    unsafe fn store<V: Ints>(view: &ImageView, slice: &Slice, x: V, y: V, texels: &Lanes) {
        let kernels = kernels(Format(view.format as u16));
        let (x, y) = (x.lanes(), y.lanes());
        for i in 0..MAX_LANES {
            if !slice.wants(i) {
                continue;
            }
            let row = u64::from(y[i]) * u64::from(slice.pitch);
            let offset = row + u64::from(x[i]) * kernels.bytes as u64;
            let block = (kernels.pack_one)([texels[0][i], texels[1][i], texels[2][i], texels[3][i]]);
            // SAFETY: the texel's `bytes` (at most 16) bytes are inside the view.
            unsafe { slice.base.add(offset as usize).copy_from_nonoverlapping(block.as_ptr(), kernels.bytes) };
        }
    }
}
