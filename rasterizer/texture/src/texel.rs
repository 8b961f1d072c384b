//! Reading and writing texels: one type per texel class, so that kernels are straight-line code for
//! the common formats.
//!
//! Loads and stores never check, because callers pass coordinates inside the level. Texels may
//! change during a read (the application shares the memory), so every load copies the texel's
//! bytes, and any bytes are a valid texel.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

#[cfg(target_arch = "x86_64")]
use super::avx512::{anisotropic, bilinear, image_texels, level, sample_2d};
use super::chunk_batch::ChunkRows;
use super::slice::Slice;
use super::window;
use super::words::{self, Words};
use base::abi::{ImageArgs, ImageKernel, ImageView, MAX_LANES, Sampler};
use base::format::lanes::{FilterTexel, Lanes};
use base::format::{Format, FormatRow, Texel, kernels};
use base::host::{Host, Ints};

/// A texel class. Texels are loaded as four words, from which components are extracted when they
/// are needed.
pub trait Texels: Sized {
    /// True if components can be extracted as integers from 0 to 255, so that filters divide once,
    /// at the end.
    const SCALED: bool = false;
    /// True if components are integers.
    const INTEGER: bool = false;
    /// True if levels of the view may be cut into cells.
    const IS_SPARSE: bool = false;
    /// Components that are not the same in every texel.
    const HAS: [bool; 4] = [true; 4];
    /// Property of the texels for filters of hosts that are [`Host::HAS_512`], if the class has
    /// such filters: [`Texels::bilinear`] and the functions that return whole samples. Texels are
    /// integers if [`Texels::SCALED`].
    const FOUR: Option<FilterTexel> = None;
    /// True if these hosts also have fast functions for texels without a filter.
    const HAS_512_NEAREST: bool = false;
    /// Source of the texels for such filters.
    #[cfg(target_arch = "x86_64")]
    type TexelSource: level::TexelSource;
    /// The class that includes these texels and others, with the same components; rare operations
    /// use it, so that classes share their code.
    type Shared: Texels;

    /// Returns the texel at (x, y) of the slice that begins at `slice`.
    ///
    /// # Safety
    /// (x, y) lies inside the slice, whose rows are `row_pitch` bytes apart, and the view's format
    /// belongs to the class.
    unsafe fn texel(view: &ImageView, slice: *const u8, row_pitch: u64, x: u32, y: u32) -> Texel;

    /// Returns the words of all lanes' texels. Those of lanes that are not wanted have no meaning.
    ///
    /// # Safety
    /// (x, y) lie inside the slice (in all lanes, wanted or not), and the view's format belongs to
    /// the class. The host is `H`.
    #[inline(always)]
    unsafe fn words<H: Host>(view: &ImageView, slice: &Slice, x: H::Ints, y: H::Ints) -> Words<H> {
        let (x, y) = (x.to_array(), y.to_array());
        let mut texels = [[0; 4]; MAX_LANES];
        for i in 0..MAX_LANES {
            if slice.wants(i) {
                // SAFETY: (x, y) lies inside the slice, and the view's format belongs to the class
                // (`# Safety`).
                texels[i] = unsafe { Self::texel(view, slice.base, u64::from(slice.pitch), x[i], y[i]) };
            }
        }
        // SAFETY: the host is `H` (`# Safety`).
        words::transpose(unsafe { H::assume() }, &texels)
    }

    /// Returns the words as [`Texels::words`] does; it is faster if lanes are neighbours.
    ///
    /// # Safety
    /// The requirements of [`Texels::words`] hold.
    #[inline(always)]
    unsafe fn neighbours<H: Host>(view: &ImageView, slice: &Slice, x: H::Ints, y: H::Ints) -> Words<H> {
        // SAFETY: the requirements of `Texels::words` hold (`# Safety`).
        unsafe { Self::words::<H>(view, slice, x, y) }
    }

    /// Prefetches the memory of the next samples.
    #[inline(always)]
    fn prefetch<H: Host, const ROWS: usize>(_slice: &Slice, _x: H::Ints, _y: H::Ints) {}

    /// Returns the words at both `x` of the first `y`, then at both `x` of the second `y`.
    ///
    /// # Safety
    /// The requirements of [`Texels::words`] hold for all combinations of `x` and `y`.
    #[inline(always)]
    unsafe fn footprint<H: Host>(view: &ImageView, slice: &Slice, x: [H::Ints; 2], y: [H::Ints; 2]) -> [Words<H>; 4] {
        // SAFETY: the requirements of `Texels::words` hold (`# Safety`).
        unsafe {
            [
                Self::words::<H>(view, slice, x[0], y[0]),
                Self::words::<H>(view, slice, x[1], y[0]),
                Self::words::<H>(view, slice, x[0], y[1]),
                Self::words::<H>(view, slice, x[1], y[1]),
            ]
        }
    }

    /// Returns the same words as [`Texels::footprint`]; the second `x` of each lane is the right
    /// neighbour of the first one.
    ///
    /// # Safety
    /// The requirements of [`Texels::footprint`] hold.
    #[inline(always)]
    unsafe fn adjacent<H: Host>(view: &ImageView, slice: &Slice, x: [H::Ints; 2], y: [H::Ints; 2]) -> [Words<H>; 4] {
        // SAFETY: the requirements of `Texels::footprint` hold (`# Safety`).
        unsafe { Self::footprint::<H>(view, slice, x, y) }
    }

    /// Returns the components at both `x` and both `y`, filtered by the `weights` of the second
    /// ones. With `RAW` those of a scaled class are integers, represented as floats. `None` means
    /// that the class has no faster way than to filter words.
    ///
    /// # Safety
    /// The requirements of [`Texels::words`] hold for all combinations of `x` and `y`.
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

    /// Takes one of the most frequent samples, of one level or with `MIPS` of several, if the class
    /// has a fast function for it. Returns false if nothing was sampled.
    ///
    /// # Safety
    /// The requirements of `planar::sample` hold.
    #[inline(always)]
    unsafe fn sample<H: Host, const LINEAR: bool, const MIPS: bool>(
        view: &ImageView,
        sampler: &Sampler,
        args: &mut ImageArgs,
    ) -> bool {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the host is `H`, and the requirements of `planar::sample` hold (`# Safety`).
        unsafe {
            if let (Some(v), Some(_)) = (H::assume().avx512(), Self::FOUR) {
                return sample_2d::sample::<ClassKind<Self, false>, LINEAR, MIPS>(v, view, sampler, args);
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (view, sampler, args);
        false
    }

    /// Samples all chunks of a batch. The first one of `kernels` takes uncommon samples; the second
    /// one takes single chunks.
    ///
    /// # Safety
    /// The requirements of `planar::sample` hold for each chunk; both are kernels of the view and
    /// the sampler's class.
    #[inline(always)]
    unsafe fn sample_chunks<H: Host, const LINEAR: bool>(
        view: &ImageView,
        sampler: &Sampler,
        args: &mut ImageArgs,
        rows: &mut ChunkRows,
        kernels: [ImageKernel; 2],
    ) {
        // SAFETY: the requirements of `planar::sample` hold for each chunk, and the kernels fit
        // (`# Safety`).
        unsafe {
            #[cfg(target_arch = "x86_64")]
            if let (Some(v), Some(_)) = (H::assume().avx512(), Self::FOUR) {
                return sample_2d::sample_chunks::<ClassKind<Self, false>, LINEAR>(
                    v, view, sampler, args, rows, kernels,
                );
            }
            rows.one_by_one(view, sampler, args, kernels[0]);
        }
    }

    /// Samples one level of two views, one for each four lanes. Returns false if nothing was
    /// sampled.
    ///
    /// # Safety
    /// The requirements of `planar::sample` hold for both views.
    #[inline(always)]
    unsafe fn sample_pair<H: Host, const LINEAR: bool>(
        views: [&ImageView; 2],
        sampler: &Sampler,
        args: &mut ImageArgs,
    ) -> bool {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the host is `H`, and the requirements of `planar::sample` hold for both views
        // (`# Safety`).
        unsafe {
            if let (Some(v), Some(_)) = (H::assume().avx512(), Self::FOUR) {
                return sample_2d::sample_pair::<ClassKind<Self, false>, LINEAR>(v, views, sampler, args);
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (views, sampler, args);
        false
    }

    /// Takes an anisotropic sample. Returns false if nothing was sampled.
    ///
    /// # Safety
    /// The requirements of `planar::sample` hold.
    #[inline(always)]
    unsafe fn anisotropic<H: Host>(view: &ImageView, sampler: &Sampler, args: &mut ImageArgs) -> bool {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the host is `H`, and the requirements of `planar::sample` hold (`# Safety`).
        unsafe {
            if let (Some(v), Some(_)) = (H::assume().avx512(), Self::FOUR) {
                let probes = anisotropic::probes_of::<ClassKind<Self, true>>();
                return anisotropic::sample(v, view, sampler, args, probes);
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (view, sampler, args);
        false
    }

    /// Samples all chunks of a batch with an anisotropic sampler; `kernels` are those of
    /// [`Texels::sample_chunks`].
    ///
    /// # Safety
    /// The requirements of [`Texels::sample_chunks`] hold.
    #[inline(always)]
    unsafe fn anisotropic_chunks<H: Host>(
        view: &ImageView,
        sampler: &Sampler,
        args: &mut ImageArgs,
        rows: &mut ChunkRows,
        kernels: [ImageKernel; 2],
    ) {
        // SAFETY: the requirements of `Texels::sample_chunks` hold (`# Safety`).
        unsafe {
            #[cfg(target_arch = "x86_64")]
            if let (Some(v), Some(_)) = (H::assume().avx512(), Self::FOUR) {
                let probes = anisotropic::probes_of::<ClassKind<Self, true>>();
                return anisotropic::sample_chunks(v, view, sampler, args, rows, probes, kernels);
            }
            rows.one_by_one(view, sampler, args, kernels[0]);
        }
    }

    /// Returns component `C` of words. With `RAW` that of a scaled class is an integer, represented
    /// as a float. With `QUIET` a NaN may become a quiet one.
    #[inline(always)]
    fn component<V: Ints, const C: usize, const RAW: bool, const QUIET: bool>(words: &[V; 4]) -> V {
        words[C]
    }

    /// Returns true if `QUIET` makes [`Texels::component`] faster without changing its bits.
    #[inline(always)]
    fn is_quiet<V: Ints>(_words: &[V; 4]) -> bool {
        false
    }

    /// Returns the components of texels that no filter changes.
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
    /// The requirements of [`Texels::words`] hold, and the view's memory may be written.
    unsafe fn store<V: Ints>(view: &ImageView, slice: &Slice, x: V, y: V, texels: &Lanes);
}

/// The kind of a class's samples; with `VALUES` unsigned normalised texels are filtered as values,
/// not as integers.
#[cfg(target_arch = "x86_64")]
struct ClassKind<T, const VALUES: bool>(core::marker::PhantomData<T>);

#[cfg(target_arch = "x86_64")]
impl<T: Texels, const VALUES: bool> level::SampleKind for ClassKind<T, VALUES> {
    const FOUR: FilterTexel = match T::FOUR {
        Some(four) if VALUES => four.raw(false),
        Some(four) => four,
        // A class without such filters is never sampled by this kind.
        None => FilterTexel::Half,
    };
    type TexelSource = T::TexelSource;
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

/// The class of row `ROW` of the format table, and of rows with the same bits. With `RAW` filters
/// work on the stored integers.
pub struct PlainClass<const ROW: usize, const RAW: bool>;

impl<const ROW: usize, const RAW: bool> PlainClass<ROW, RAW> {
    /// Loads texels of `N` bytes.
    #[inline(always)]
    unsafe fn load<H: Host, const N: usize>(slice: &Slice, x: H::Ints, y: H::Ints) -> Words<H> {
        // SAFETY: all callers pass coordinates inside the slice, as `Texels::words` requires.
        unsafe { words::gather::<H, N>(slice.base, slice.offsets::<_, N>(x, y)) }
    }

    /// Loads two neighbours of `N` bytes each by one access.
    #[inline(always)]
    unsafe fn load_pairs<H: Host, const N: usize, const TWICE: usize>(
        slice: &Slice,
        x: H::Ints,
        y: H::Ints,
    ) -> [Words<H>; 2] {
        // SAFETY: all callers pass coordinates of neighbours inside the slice, which lie in one
        // row.
        let both = unsafe { words::gather::<H, TWICE>(slice.base, slice.offsets::<_, N>(x, y)) };
        words::split::<_, N>(&both)
    }

    /// Loads a footprint of neighbours.
    #[inline(always)]
    unsafe fn load_both<H: Host, const N: usize, const TWICE: usize>(
        slice: &Slice,
        x: H::Ints,
        y: [H::Ints; 2],
    ) -> [Words<H>; 4] {
        // SAFETY: all callers pass coordinates of neighbours inside the slice, as
        // `Texels::adjacent` requires.
        let [[a, b], [c, d]] = unsafe {
            [Self::load_pairs::<H, N, TWICE>(slice, x, y[0]), Self::load_pairs::<H, N, TWICE>(slice, x, y[1])]
        };
        [a, b, c, d]
    }

    #[inline(always)]
    unsafe fn put<V: Ints, const N: usize>(slice: &Slice, x: V, y: V, texels: &Lanes) {
        let (offset, words) = (slice.offsets::<_, N>(x, y), FormatRow::<ROW>::pack_lanes(texels));
        // SAFETY: all callers pass coordinates inside the slice, as `Texels::store` requires.
        unsafe { words::write::<N>(slice.base, &offset.to_array(), &words, slice.mask) };
    }
}

impl<const ROW: usize, const RAW: bool> Texels for PlainClass<ROW, RAW> {
    const SCALED: bool = RAW;
    const INTEGER: bool = FormatRow::<ROW>::INTEGER;
    const HAS: [bool; 4] = FormatRow::<ROW>::HAS;
    const FOUR: Option<FilterTexel> = FormatRow::<ROW>::four(RAW);
    // Signalling NaNs of halves would become quiet.
    const HAS_512_NEAREST: bool = matches!(Self::FOUR, Some(four) if four.words() == 1);
    #[cfg(target_arch = "x86_64")]
    type TexelSource = image_texels::ImageTexels;
    type Shared = AnyClass;

    #[inline(always)]
    unsafe fn texel(_: &ImageView, slice: *const u8, row_pitch: u64, x: u32, y: u32) -> Texel {
        let bytes = FormatRow::<ROW>::BYTES;
        let mut block = [0; 16];
        let offset = u64::from(y) * row_pitch + u64::from(x) * bytes as u64;
        // SAFETY: the texel of `bytes` (at most 16) bytes lies inside the slice, as `Texels::texel`
        // requires.
        unsafe { slice.add(offset as usize).copy_to_nonoverlapping(block.as_mut_ptr(), bytes) };
        FormatRow::<ROW>::unpack_slice(&block)
    }

    #[inline(always)]
    unsafe fn words<H: Host>(_: &ImageView, slice: &Slice, x: H::Ints, y: H::Ints) -> Words<H> {
        // SAFETY: the coordinates lie inside the slice, as `Texels::words` requires; the texels
        // have that many bytes.
        unsafe {
            match const { common(FormatRow::<ROW>::BYTES) } {
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
        // SAFETY: the coordinates lie inside the slice, as `Texels::footprint` requires; the texels
        // have that many bytes.
        unsafe {
            if FormatRow::<ROW>::BYTES == 1
                && let Some(words) = window::footprint::<H>(slice, x, y)
            {
                return words;
            }
            let adjacent = (x[0] + H::Ints::splat(1)).equal(x[1]).movemask() == 0xff;
            match FormatRow::<ROW>::BYTES {
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
        // SAFETY: the coordinates lie inside the slice, as `Texels::adjacent` requires; the texels
        // have that many bytes.
        unsafe {
            match FormatRow::<ROW>::BYTES {
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
        let four = Self::FOUR.filter(|four| !matches!(four, FilterTexel::Narrow(_)))?;
        // SAFETY: the coordinates lie inside the slice, and the host is `H`, as `Texels::bilinear`
        // requires.
        unsafe { bilinear::bilinear::<H>(H::assume().avx512()?, four.raw(RAW && R), slice, x, y, weights) }
    }

    #[inline(always)]
    unsafe fn neighbours<H: Host>(view: &ImageView, slice: &Slice, x: H::Ints, y: H::Ints) -> Words<H> {
        // SAFETY: the coordinates lie inside the slice, as `Texels::neighbours` requires; the
        // texels have that many bytes.
        unsafe {
            let near = match FormatRow::<ROW>::BYTES {
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
        match const { common(FormatRow::<ROW>::BYTES) } {
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
            FormatRow::<ROW>::component_lanes::<V, C, true, QUIET>(words)
        } else {
            FormatRow::<ROW>::component_lanes::<V, C, false, QUIET>(words)
        }
    }

    #[inline(always)]
    fn is_quiet<V: Ints>(words: &[V; 4]) -> bool {
        FormatRow::<ROW>::is_quiet(words)
    }

    #[inline(always)]
    unsafe fn store<V: Ints>(_: &ImageView, slice: &Slice, x: V, y: V, texels: &Lanes) {
        // SAFETY: the coordinates lie inside the slice, which may be written, as `Texels::store`
        // requires; the texels have that many bytes.
        unsafe {
            match FormatRow::<ROW>::BYTES {
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

/// Returns a size in bytes for which there is code. (Rows of other sizes belong to class
/// [`AnyClass`].)
const fn common(bytes: usize) -> usize {
    assert!(bytes.is_power_of_two() && bytes <= 16);
    bytes
}

/// The class of any format of one-texel blocks, which uses its unpack function.
pub struct AnyClass;

impl Texels for AnyClass {
    #[cfg(target_arch = "x86_64")]
    type TexelSource = image_texels::ImageTexels;
    type Shared = AnyClass;

    #[inline(always)]
    unsafe fn texel(view: &ImageView, slice: *const u8, row_pitch: u64, x: u32, y: u32) -> Texel {
        let kernels = kernels(Format(view.format as u16));
        let offset = u64::from(y) * row_pitch + u64::from(x) * kernels.bytes as u64;
        let mut block = [0; 16];
        // SAFETY: the texel of `bytes` (at most 16) bytes lies inside the slice, as `Texels::texel`
        // requires.
        unsafe { slice.add(offset as usize).copy_to_nonoverlapping(block.as_mut_ptr(), kernels.bytes) };
        (kernels.unpack_one)(&block)
    }

    #[inline(always)]
    unsafe fn store<V: Ints>(view: &ImageView, slice: &Slice, x: V, y: V, texels: &Lanes) {
        let kernels = kernels(Format(view.format as u16));
        let (x, y) = (x.to_array(), y.to_array());
        for i in 0..MAX_LANES {
            if !slice.wants(i) {
                continue;
            }
            let row = u64::from(y[i]) * u64::from(slice.pitch);
            let offset = row + u64::from(x[i]) * kernels.bytes as u64;
            let block = (kernels.pack_one)([texels[0][i], texels[1][i], texels[2][i], texels[3][i]]);
            // SAFETY: the texel of `bytes` (at most 16) bytes lies inside the slice, which may be
            // written, as `Texels::store` requires.
            unsafe { slice.base.add(offset as usize).copy_from_nonoverlapping(block.as_ptr(), kernels.bytes) };
        }
    }
}
