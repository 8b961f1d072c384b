//! Reading and writing texels: one type per texel class, so that kernels are straight-line code for
//! the common formats.
//!
//! Callers pass coordinates inside the level, so that loads and stores never fail (see
//! [`TexelMemory`]).

#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

#[cfg(target_arch = "x86_64")]
use super::avx512::{anisotropic, bilinear, image_texels, level, sample_2d};
use super::chunk_batch::ChunkRows;
use super::memory::{TexelMemory, ValidView, ViewKernel};
use super::slice::Slice;
use super::window;
use super::words::{self, Words, transpose};
use base::abi::{ImageArgs, MAX_LANES, Sampler};
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
    /// True if the view's component mapping applies to texels.
    const IS_MAPPED: bool = true;
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
    fn texel(view: ValidView<'_>, slice: TexelMemory<'_>, row_pitch: u64, x: u32, y: u32) -> Texel;

    /// Returns the words of all lanes' texels. Those of lanes that are not wanted have no meaning.
    #[inline(always)]
    fn words<H: Host>(host: H, view: ValidView<'_>, slice: &Slice<'_>, x: H::Ints, y: H::Ints) -> Words<H> {
        let (x, y) = (x.to_array(), y.to_array());
        let mut texels = [[0; 4]; MAX_LANES];
        for i in 0..MAX_LANES {
            if slice.wants(i) {
                texels[i] = Self::texel(view, slice.memory, u64::from(slice.pitch), x[i], y[i]);
            }
        }
        transpose(host, &texels)
    }

    /// Returns the words as [`Texels::words`] does; it is faster if lanes are neighbours.
    #[inline(always)]
    fn neighbours<H: Host>(host: H, view: ValidView<'_>, slice: &Slice<'_>, x: H::Ints, y: H::Ints) -> Words<H> {
        Self::words(host, view, slice, x, y)
    }

    /// Prefetches the memory of the next samples.
    #[inline(always)]
    fn prefetch<H: Host, const ROWS: usize>(_slice: &Slice<'_>, _x: H::Ints, _y: H::Ints) {}

    /// Returns the words at both `x` of the first `y`, then at both `x` of the second `y`.
    #[inline(always)]
    fn footprint<H: Host>(
        host: H,
        view: ValidView<'_>,
        slice: &Slice<'_>,
        x: [H::Ints; 2],
        y: [H::Ints; 2],
    ) -> [Words<H>; 4] {
        [
            Self::words(host, view, slice, x[0], y[0]),
            Self::words(host, view, slice, x[1], y[0]),
            Self::words(host, view, slice, x[0], y[1]),
            Self::words(host, view, slice, x[1], y[1]),
        ]
    }

    /// Returns the same words as [`Texels::footprint`]; the second `x` of each lane is the right
    /// neighbour of the first one.
    #[inline(always)]
    fn adjacent<H: Host>(
        host: H,
        view: ValidView<'_>,
        slice: &Slice<'_>,
        x: [H::Ints; 2],
        y: [H::Ints; 2],
    ) -> [Words<H>; 4] {
        Self::footprint(host, view, slice, x, y)
    }

    /// Returns the components at both `x` and both `y`, filtered by the `weights` of the second
    /// ones. With `RAW` those of a scaled class are integers, represented as floats. `None` means
    /// that the class has no faster way than to filter words.
    #[inline(always)]
    fn bilinear<H: Host, const RAW: bool>(
        _host: H,
        _view: ValidView<'_>,
        _slice: &Slice<'_>,
        _x: [H::Ints; 2],
        _y: [H::Ints; 2],
        _weights: [H::Floats; 2],
    ) -> Option<Words<H>> {
        None
    }

    /// Takes one of the most frequent samples, of one level or with `MIPS` of several, if the class
    /// has a fast function for it. Returns false if nothing was sampled.
    #[inline(always)]
    fn sample<H: Host, const LINEAR: bool, const MIPS: bool>(
        host: H,
        view: ValidView<'_>,
        sampler: &Sampler,
        args: &mut ImageArgs,
    ) -> bool {
        #[cfg(target_arch = "x86_64")]
        if let (Some(v), Some(_)) = (host.avx512(), Self::FOUR) {
            return sample_2d::sample::<ClassKind<Self, false>, LINEAR, MIPS>(v, view, sampler, args);
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (host, view, sampler, args);
        false
    }

    /// Samples all chunks of a batch. The first one of `kernels` takes uncommon samples; the second
    /// one takes single chunks.
    #[inline(always)]
    fn sample_chunks<H: Host, const LINEAR: bool>(
        host: H,
        view: ValidView<'_>,
        sampler: &Sampler,
        args: &mut ImageArgs,
        rows: &mut ChunkRows,
        kernels: [ViewKernel; 2],
    ) {
        #[cfg(target_arch = "x86_64")]
        if let (Some(v), Some(_)) = (host.avx512(), Self::FOUR) {
            return sample_2d::sample_chunks::<ClassKind<Self, false>, LINEAR>(v, view, sampler, args, rows, kernels);
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = host;
        rows.one_by_one(view, sampler, args, kernels[0]);
    }

    /// Samples one level of two views, one for each four lanes. Returns false if nothing was
    /// sampled.
    #[inline(always)]
    fn sample_pair<H: Host, const LINEAR: bool>(
        host: H,
        views: [ValidView<'_>; 2],
        sampler: &Sampler,
        args: &mut ImageArgs,
    ) -> bool {
        #[cfg(target_arch = "x86_64")]
        if let (Some(v), Some(_)) = (host.avx512(), Self::FOUR) {
            return sample_2d::sample_pair::<ClassKind<Self, false>, LINEAR>(v, views, sampler, args);
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (host, views, sampler, args);
        false
    }

    /// Takes an anisotropic sample. Returns false if nothing was sampled.
    #[inline(always)]
    fn anisotropic<H: Host>(host: H, view: ValidView<'_>, sampler: &Sampler, args: &mut ImageArgs) -> bool {
        #[cfg(target_arch = "x86_64")]
        if let (Some(v), Some(_)) = (host.avx512(), Self::FOUR) {
            let probes = anisotropic::probes_of::<ClassKind<Self, true>>();
            return anisotropic::sample(v, view, sampler, args, probes);
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (host, view, sampler, args);
        false
    }

    /// Samples all chunks of a batch with an anisotropic sampler; `kernels` are those of
    /// [`Texels::sample_chunks`].
    #[inline(always)]
    fn anisotropic_chunks<H: Host>(
        host: H,
        view: ValidView<'_>,
        sampler: &Sampler,
        args: &mut ImageArgs,
        rows: &mut ChunkRows,
        kernels: [ViewKernel; 2],
    ) {
        #[cfg(target_arch = "x86_64")]
        if let (Some(v), Some(_)) = (host.avx512(), Self::FOUR) {
            let probes = anisotropic::probes_of::<ClassKind<Self, true>>();
            return anisotropic::sample_chunks(v, view, sampler, args, rows, probes, kernels);
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = host;
        rows.one_by_one(view, sampler, args, kernels[0]);
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
    fn store<V: Ints>(view: ValidView<'_>, slice: &Slice<'_>, x: V, y: V, texels: &Lanes);
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
    fn load<H: Host, const N: usize>(host: H, slice: &Slice<'_>, x: H::Ints, y: H::Ints) -> Words<H> {
        slice.memory.gather::<H, N>(host, slice.offsets::<_, N>(x, y))
    }

    /// Loads two neighbours of `N` bytes each by one access.
    #[inline(always)]
    fn load_pairs<H: Host, const N: usize, const TWICE: usize>(
        host: H,
        slice: &Slice<'_>,
        x: H::Ints,
        y: H::Ints,
    ) -> [Words<H>; 2] {
        let both = slice.memory.gather::<H, TWICE>(host, slice.offsets::<_, N>(x, y));
        words::split::<_, N>(&both)
    }

    /// Loads a footprint of neighbours.
    #[inline(always)]
    fn load_both<H: Host, const N: usize, const TWICE: usize>(
        host: H,
        slice: &Slice<'_>,
        x: H::Ints,
        y: [H::Ints; 2],
    ) -> [Words<H>; 4] {
        let [[a, b], [c, d]] = [
            Self::load_pairs::<H, N, TWICE>(host, slice, x, y[0]),
            Self::load_pairs::<H, N, TWICE>(host, slice, x, y[1]),
        ];
        [a, b, c, d]
    }

    #[inline(always)]
    fn put<V: Ints, const N: usize>(slice: &Slice<'_>, x: V, y: V, texels: &Lanes) {
        let (offset, words) = (slice.offsets::<_, N>(x, y), FormatRow::<ROW>::pack_lanes(texels));
        slice.memory.scatter::<V, N>(offset, &words, slice.mask);
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
    fn texel(_: ValidView<'_>, slice: TexelMemory<'_>, row_pitch: u64, x: u32, y: u32) -> Texel {
        let bytes = FormatRow::<ROW>::BYTES;
        let offset = u64::from(y) * row_pitch + u64::from(x) * bytes as u64;
        FormatRow::<ROW>::unpack_slice(&slice.read_bytes::<16>(offset, bytes))
    }

    #[inline(always)]
    fn words<H: Host>(host: H, _: ValidView<'_>, slice: &Slice<'_>, x: H::Ints, y: H::Ints) -> Words<H> {
        match const { common(FormatRow::<ROW>::BYTES) } {
            1 => Self::load::<H, 1>(host, slice, x, y),
            2 => Self::load::<H, 2>(host, slice, x, y),
            4 => Self::load::<H, 4>(host, slice, x, y),
            8 => Self::load::<H, 8>(host, slice, x, y),
            _ => Self::load::<H, 16>(host, slice, x, y),
        }
    }

    #[inline(always)]
    fn footprint<H: Host>(
        host: H,
        view: ValidView<'_>,
        slice: &Slice<'_>,
        x: [H::Ints; 2],
        y: [H::Ints; 2],
    ) -> [Words<H>; 4] {
        if FormatRow::<ROW>::BYTES == 1
            && let Some(words) = window::footprint(host, slice, x, y)
        {
            return words;
        }
        let adjacent = (x[0] + H::Ints::splat(1)).equal(x[1]).movemask() == 0xff;
        match FormatRow::<ROW>::BYTES {
            2 | 4 | 8 if adjacent => Self::adjacent(host, view, slice, x, y),
            _ => [
                Self::words(host, view, slice, x[0], y[0]),
                Self::words(host, view, slice, x[1], y[0]),
                Self::words(host, view, slice, x[0], y[1]),
                Self::words(host, view, slice, x[1], y[1]),
            ],
        }
    }

    #[inline(always)]
    fn adjacent<H: Host>(
        host: H,
        view: ValidView<'_>,
        slice: &Slice<'_>,
        x: [H::Ints; 2],
        y: [H::Ints; 2],
    ) -> [Words<H>; 4] {
        match FormatRow::<ROW>::BYTES {
            2 => Self::load_both::<H, 2, 4>(host, slice, x[0], y),
            4 => Self::load_both::<H, 4, 8>(host, slice, x[0], y),
            8 => Self::load_both::<H, 8, 16>(host, slice, x[0], y),
            _ => Self::footprint(host, view, slice, x, y),
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn bilinear<H: Host, const R: bool>(
        host: H,
        _: ValidView<'_>,
        slice: &Slice<'_>,
        x: [H::Ints; 2],
        y: [H::Ints; 2],
        weights: [H::Floats; 2],
    ) -> Option<Words<H>> {
        let four = Self::FOUR.filter(|four| !matches!(four, FilterTexel::Narrow(_)))?;
        bilinear::bilinear::<H>(host.avx512()?, four.raw(RAW && R), slice, x, y, weights)
    }

    #[inline(always)]
    fn neighbours<H: Host>(host: H, view: ValidView<'_>, slice: &Slice<'_>, x: H::Ints, y: H::Ints) -> Words<H> {
        let near = match FormatRow::<ROW>::BYTES {
            4 => window::neighbours::<H, 4>(host, slice, x, y),
            8 => window::neighbours::<H, 8>(host, slice, x, y),
            _ => None,
        };
        match near {
            Some(words) => words,
            None => Self::words(host, view, slice, x, y),
        }
    }

    #[inline(always)]
    fn prefetch<H: Host, const ROWS: usize>(slice: &Slice<'_>, x: H::Ints, y: H::Ints) {
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
    fn store<V: Ints>(_: ValidView<'_>, slice: &Slice<'_>, x: V, y: V, texels: &Lanes) {
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
    fn texel(view: ValidView<'_>, slice: TexelMemory<'_>, row_pitch: u64, x: u32, y: u32) -> Texel {
        let kernels = kernels(Format(view.format as u16));
        let offset = u64::from(y) * row_pitch + u64::from(x) * kernels.bytes as u64;
        (kernels.unpack_one)(&slice.read_bytes::<16>(offset, kernels.bytes))
    }

    #[inline(always)]
    fn store<V: Ints>(view: ValidView<'_>, slice: &Slice<'_>, x: V, y: V, texels: &Lanes) {
        let kernels = kernels(Format(view.format as u16));
        let (x, y) = (x.to_array(), y.to_array());
        for i in 0..MAX_LANES {
            if !slice.wants(i) {
                continue;
            }
            let row = u64::from(y[i]) * u64::from(slice.pitch);
            let offset = row + u64::from(x[i]) * kernels.bytes as u64;
            let block = (kernels.pack_one)([texels[0][i], texels[1][i], texels[2][i], texels[3][i]]);
            slice.memory.write_bytes(offset, &block, kernels.bytes);
        }
    }
}
