//! Samples of one mip level on hosts with the 512-bit level
//! ([`Host::HAS_512`](base::host::Host::HAS_512)). One vector has both axes. Coordinates become
//! texels, which are wrapped. The texels lie in one window per quad, in one window of all lanes, or
//! apart. The two quads may have different views. A [`TexelSource`] provides the texels: the image
//! itself, or blocks that were decoded (`blocks`).

use super::super::chunk_batch::SEVERAL;
use super::super::memory::{TexelMemory, ValidView};
use super::super::slice::Slice;
use super::super::window::SIDE;
use super::bilinear::{LoadedWindows, chosen_of, eight_at, filter_of, windows_of};
use super::bilinear_narrow;
use super::nearest_texels::NeighbourPrediction;
use super::quad_windows::{WindowShape, by_axis, is_wanted, second_window, windows_at};
use super::wrap::{Wrap, floor};
use base::abi::ImageLevel;
use base::format::lanes::FilterTexel;
use base::host::Avx512;
use core::arch::x86_64::*;
use core::cell::Cell;

/// The first and the second texels of a chunk, the weight of the second ones, and the lanes that
/// are far outside.
pub type LocatedTexels = ([__m512i; 2], __m512, u16);

/// Components of a chunk, two per vector; `None` under the conditions of [`LevelSampler::sample`].
pub type FilteredTexels = Option<[__m512; 2]>;

/// Constants for which samples are compiled, so that none is looked up at run time.
pub trait SampleKind {
    /// Property of the texels that filters use.
    const FOUR: FilterTexel;
    /// Source of the texels.
    type TexelSource: TexelSource;
    /// True if several chunks are filtered at once (`several`). It pays if texels need much work,
    /// and every kind has its own copy of the code. It is used for blocks, and for kinds that load
    /// a chunk by one or two loads and are decoded by tables or by many operations.
    const SEVERAL: bool = match Self::FOUR {
        FilterTexel::Srgb(_) | FilterTexel::Packed => true,
        FilterTexel::Unorm(_) | FilterTexel::Integers(_) => !Self::TexelSource::PLANNED,
        FilterTexel::Half | FilterTexel::Narrow(_) => false,
    };
}

/// A source of the texels of a level.
pub trait TexelSource: Sized {
    /// State of a level.
    type Level<'a>;

    /// Makes the state of a slice of the view. No source of another kind is used in this thread
    /// while it lives.
    fn new<'a>(view: ValidView<'a>, slice: &Slice<'a>) -> Self::Level<'a>;

    /// Returns the filtered components of the texels, two per vector; see [`LevelSampler::sample`].
    /// `texels` are the first and the second ones (the same without `LINEAR`), `weight` is that of
    /// the second ones, and `far` has the lanes that are far outside.
    fn find<K: SampleKind<TexelSource = Self>, const LINEAR: bool, const TWO: bool>(
        v: Avx512,
        axes: &LevelSampler<'_, K>,
        texels: [__m512i; 2],
        weight: __m512,
        far: u16,
    ) -> Option<[__m512; 2]>;

    /// True if probes are planned ([`probes::plan`]).
    const PLANNED: bool = false;

    /// Calls [`TexelSource::find`] for several chunks of one view with a linear filter; results
    /// after the first `count` have no meaning.
    #[inline(always)]
    fn find_several<K: SampleKind<TexelSource = Self>>(
        v: Avx512,
        axes: &LevelSampler<'_, K>,
        seen: &[LocatedTexels; SEVERAL],
        found: &mut [FilteredTexels; SEVERAL],
        count: usize,
    ) {
        one_by_one(v, axes, seen, found, count)
    }

    /// Returns the words of one-word texels of four components, at x and y of two chunks, in a
    /// level of this width and height. `None` has the meaning of that of [`TexelSource::find`].
    fn words<K: SampleKind<TexelSource = Self>>(
        v: Avx512,
        axes: &LevelSampler<'_, K>,
        texels: [__m512i; 2],
        size: [__m512i; 2],
    ) -> Option<__m512i>;
}

/// Implements [`TexelSource::find_several`] by calls for one chunk at a time.
#[inline(always)]
pub(crate) fn one_by_one<K: SampleKind>(
    v: Avx512,
    axes: &LevelSampler<'_, K>,
    seen: &[LocatedTexels; SEVERAL],
    found: &mut [FilteredTexels; SEVERAL],
    count: usize,
) {
    // The index is masked, so that the compiler, which knows no bound, makes one copy of the code.
    for i in 0..count {
        let (texels, weight, far) = seen[i % SEVERAL];
        found[i % SEVERAL] = K::TexelSource::find::<K, true, false>(v, axes, texels, weight, far);
    }
}

/// The texel grid of a level. The lower half of each vector belongs to x, the upper half to y, in
/// the order of the lanes.
pub(crate) struct LevelGrid {
    pub(crate) wrap: Wrap,
    pub(crate) size: __m512i,
    /// Last coordinates.
    last: __m512i,
    /// Sizes as floats.
    scale: __m512,
}

impl LevelGrid {
    /// Returns the texels at coordinates.
    #[inline(always)]
    pub(crate) fn seen<const LINEAR: bool>(&self, v: Avx512, coord: __m512) -> LocatedTexels {
        let u = v._mm512_mul_ps(coord, self.scale);
        let u = if LINEAR { v._mm512_sub_ps(u, v._mm512_set1_ps(0.5)) } else { u };
        let first = floor(v, u);
        let weight = v._mm512_sub_ps(u, v._mm512_cvtepi32_ps(first));
        let far = v._mm512_cmp_ps_mask::<_CMP_NLE_UQ>(v._mm512_abs_ps(u), v._mm512_set1_ps(self.wrap.farthest()));
        if !LINEAR {
            let [first] = self.wrap.inside(v, [first], self.size, self.last);
            return ([first; 2], weight, far);
        }
        let second = v._mm512_sub_epi32(first, v._mm512_set1_epi32(-1));
        (self.wrap.inside(v, [first, second], self.size, self.last), weight, far)
    }
}

/// State that all samples of a level share.
pub struct LevelSampler<'a, K: SampleKind> {
    pub(crate) grid: LevelGrid,
    /// True if the level is wide enough for windows of [`WindowShape::Rows`], or for windows of all
    /// lanes ([`narrow`]).
    pub(crate) rows: bool,
    /// Slice of each quad.
    pub(crate) slices: [Slice<'a>; 2],
    pub(crate) source: <K::TexelSource as TexelSource>::Level<'a>,
    /// True if both quads may lie in [`COMMON`] or in [`ROW`], because all did so far.
    pub(crate) common: Cell<bool>,
    /// True if the level is wide enough for [`ROW`].
    pub(crate) long: bool,
    /// True if the lanes lay in [`ROW`] the last time.
    pub(crate) in_row: Cell<bool>,
    /// Prediction of whether several chunks lie in windows of quads.
    pub(crate) near: NeighbourPrediction,
}

/// Texels of windows, and their numbers there: those above and below at the first texels of x, and
/// at the second ones.
type Loading = (LoadedWindows, [__m512i; 2]);

/// Width and height of a common window for lanes that lie in a row: two of
/// [`WindowShape::FormatRow`].
pub(crate) const ROW: [i32; 2] = [16, 2];

impl<'a, K: SampleKind> LevelSampler<'a, K> {
    /// Makes the state of a level of views; without `TWO` both views are the same. `None` means
    /// that the axes wrap in another mode, or that the level does not exist or is smaller than a
    /// window.
    #[inline(always)]
    pub(crate) fn new<const TWO: bool>(
        v: Avx512,
        views: [ValidView<'a>; 2],
        address_mode: u32,
        number: u32,
        wanted: u32,
    ) -> Option<LevelSampler<'a, K>> {
        if number >= views[0].levels || TWO && number >= views[1].levels {
            return None;
        }
        let level = &views[0].level[number as usize];
        let other = if TWO { &views[1].level[number as usize] } else { level };
        let (width, height) = (level.width, level.height);
        let mut powers = (width & (width - 1)) | (height & (height - 1)) == 0;
        let mut small = width < SIDE || height < SIDE;
        let room = match K::FOUR {
            FilterTexel::Narrow(few) => bilinear_narrow::width(few),
            _ => WindowShape::Rows.sides()[0],
        } as u32;
        let mut rows = width >= room;
        if TWO {
            powers &= (other.width & (other.width - 1)) | (other.height & (other.height - 1)) == 0;
            small |= other.width < SIDE || other.height < SIDE;
            rows &= other.width >= room;
        }
        let wrap = Wrap::of(address_mode, powers).filter(|_| !small)?;
        let size = sizes::<TWO>(v, level, other);
        let slices = [slice_of(views[0], level, wanted), slice_of(views[usize::from(TWO)], other, wanted)];
        let last = v._mm512_sub_epi32(size, v._mm512_set1_epi32(1));
        let source = K::TexelSource::new(views[0], &slices[0]);
        Some(LevelSampler {
            grid: LevelGrid { wrap, size, last, scale: v._mm512_cvtepi32_ps(size) },
            rows,
            slices,
            source,
            common: Cell::new(rows),
            long: width >= ROW[0] as u32,
            in_row: Cell::new(false),
            near: NeighbourPrediction::default(),
        })
    }

    /// Returns the filtered components of the texels at coordinates, two per vector. `None` means
    /// that wanted lanes lie too far apart, or far outside.
    #[inline(always)]
    pub(crate) fn sample<const LINEAR: bool, const TWO: bool>(&self, v: Avx512, coord: __m512) -> Option<[__m512; 2]> {
        let (texels, weight, far) = self.grid.seen::<LINEAR>(v, coord);
        K::TexelSource::find::<K, LINEAR, TWO>(v, self, texels, weight, far)
    }
}

impl<K: SampleKind> LevelSampler<'_, K> {
    /// Loads windows of a shape that [`within`] found, one for each quad. (Without a linear filter
    /// all numbers are the same.)
    #[inline(always)]
    pub(crate) fn windows<const TWO: bool>(
        &self,
        v: Avx512,
        shape: WindowShape,
        [min, first, second]: [__m512i; 3],
    ) -> Loading {
        let [slice, other] = self.slices.each_ref();
        let other = if TWO { other } else { slice };
        let pitches = [slice.pitch, other.pitch];
        let windows = match K::FOUR.words() {
            2 => windows_at::<3>(v, min, pitches),
            _ => windows_at::<2>(v, min, pitches),
        };
        if !TWO {
            slice.prefetch_after::<4>(windows);
        }
        let loaded = windows_of(v, K::FOUR, shape, [slice, other], windows);
        (loaded, numbers(v, shape, [first, second], second_window(v)))
    }

    /// Loads one window for both quads, with texels of 4 bytes: two windows of a shape, one below
    /// the other.
    #[inline(always)]
    pub(crate) fn common_window(&self, v: Avx512, shape: WindowShape, [min, first, second]: [__m512i; 3]) -> Loading {
        let slice = &self.slices[0];
        let x = v._mm_cvtsi128_si32(v._mm512_castsi512_si128(min)) as u32;
        let y = v._mm_cvtsi128_si32(v._mm512_extracti32x4_epi32::<2>(min)) as u32;
        let at = y * slice.pitch + 4 * x;
        // The distance between the quads predicts where the next chunk lies.
        let left = v._mm_cvtsi128_si32(v._mm512_castsi512_si128(first)) as u32;
        let right = v._mm_cvtsi128_si32(v._mm512_extracti32x4_epi32::<1>(first)) as u32;
        slice.prefetch_after::<4>([at, at.wrapping_add(right.wrapping_sub(left).wrapping_mul(4))]);
        let below = at + shape.sides()[1] as u32 * slice.pitch;
        let loaded = windows_of(v, K::FOUR, shape, [slice; 2], [at, below]);
        (loaded, numbers(v, shape, [first, second], v._mm512_setzero_si512()))
    }

    /// Returns the filtered components of lanes that lie apart, whose texels are gathered: the
    /// first texels of both axes and the second ones. `None` means that neighbours lie at opposite
    /// edges of the level.
    #[inline(always)]
    pub(crate) fn apart<const LINEAR: bool>(
        &self,
        v: Avx512,
        [first, second]: [__m512i; 2],
        weight: __m512,
        far: u16,
    ) -> Option<[__m512; 2]> {
        let (four, last) = (K::FOUR, self.grid.last);
        let slice = &self.slices[0];
        if four.words() == 2 || is_wanted(far, slice.mask) {
            return None;
        }
        let memory = slice.memory;
        let pitch = v._mm512_set1_epi32(slice.pitch as i32);
        if !LINEAR {
            let y = v._mm512_mullo_epi32(v._mm512_shuffle_i64x2::<0xee>(first, first), pitch);
            let x = v._mm512_slli_epi32::<2>(v._mm512_shuffle_i64x2::<0x44>(first, first));
            return Some(chosen_of(v, four, eight_at::<1>(v, four, memory, v._mm512_add_epi32(y, x))));
        }
        // The vectors have both rows of all lanes, and the first of two neighbours, which end
        // inside of the level.
        let y = v._mm512_mullo_epi32(v._mm512_shuffle_i64x2::<0xee>(first, second), pitch);
        let left = v._mm512_shuffle_i64x2::<0x44>(first, first);
        let right = v._mm512_shuffle_i64x2::<0x44>(second, second);
        let last = v._mm512_shuffle_i64x2::<0x44>(last, last);
        let x = v._mm512_min_epi32(left, v._mm512_sub_epi32(last, v._mm512_set1_epi32(1)));
        let step = v._mm512_sub_epi32(right, x);
        if is_wanted(v._mm512_cmpgt_epu32_mask(step, v._mm512_set1_epi32(1)), slice.mask) {
            return None;
        }
        let offsets = v._mm512_add_epi32(y, v._mm512_slli_epi32::<2>(x));
        let here = v._mm_cvtsi128_si32(v._mm512_castsi512_si128(offsets)) as u32;
        let beside = v._mm_cvtsi128_si32(v._mm512_extracti32x4_epi32::<1>(offsets)) as u32;
        slice.prefetch_after::<5>([here, beside]);
        let above = memory.eight_pairs::<1>(v, v._mm512_castsi512_si256(offsets));
        let below = memory.eight_pairs::<1>(v, v._mm512_extracti64x4_epi64::<1>(offsets));
        let even = v._mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        let odd = v._mm512_add_epi32(even, v._mm512_set1_epi32(1));
        let low = v._mm512_permutex2var_epi32(above, even, below);
        let high = v._mm512_permutex2var_epi32(above, odd, below);
        let left = v._mm512_mask_mov_epi32(low, v._mm512_cmpneq_epi32_mask(left, x), high);
        let right = v._mm512_mask_mov_epi32(low, v._mm512_test_epi32_mask(step, step), high);
        let weights = by_axis(v, weight);
        Some(filter_of(v, four, [[left; 2], [right; 2]], weights))
    }

    /// Returns the same components as `apart` if each quad has its own slice; neighbours may lie
    /// anywhere.
    #[inline(always)]
    pub(crate) fn apart_in_two<const LINEAR: bool>(
        &self,
        v: Avx512,
        [first, second]: [__m512i; 2],
        weight: __m512,
        far: u16,
    ) -> Option<[__m512; 2]> {
        let (four, [slice, other]) = (K::FOUR, &self.slices);
        if four.words() == 2 || is_wanted(far, slice.mask) {
            return None;
        }
        let pitch = v._mm256_set_m128i(v._mm_set1_epi32(other.pitch as i32), v._mm_set1_epi32(slice.pitch as i32));
        let memories = [slice.memory, other.memory];
        let above = v._mm256_mullo_epi32(v._mm512_extracti64x4_epi64::<1>(first), pitch);
        let left = v._mm256_slli_epi32::<2>(v._mm512_castsi512_si256(first));
        let upper = texels_at(v, memories, above, left);
        if !LINEAR {
            return Some(chosen_of(v, four, [beside(v, upper, upper); 2]));
        }
        let below = v._mm256_mullo_epi32(v._mm512_extracti64x4_epi64::<1>(second), pitch);
        let right = v._mm256_slli_epi32::<2>(v._mm512_castsi512_si256(second));
        let left_side = beside(v, upper, texels_at(v, memories, below, left));
        let right_side = beside(v, texels_at(v, memories, above, right), texels_at(v, memories, below, right));
        let weights = by_axis(v, weight);
        Some(filter_of(v, four, [[left_side; 2], [right_side; 2]], weights))
    }
}

/// Returns the numbers of first and second texels in windows of a shape, given their distances from
/// the window's first texel; `more` is added to all.
#[inline(always)]
pub(crate) fn numbers(v: Avx512, shape: WindowShape, [first, second]: [__m512i; 2], more: __m512i) -> [__m512i; 2] {
    let rows = v._mm512_shuffle_i64x2::<0xee>(first, second);
    let rows = match shape {
        WindowShape::Square => v._mm512_slli_epi32::<2>(rows),
        WindowShape::Rows => v._mm512_slli_epi32::<3>(rows),
        WindowShape::FormatRow => v._mm512_slli_epi32::<4>(rows),
    };
    let rows = v._mm512_or_si512(rows, more);
    let left = v._mm512_or_si512(rows, v._mm512_shuffle_i64x2::<0x44>(first, first));
    let right = v._mm512_or_si512(rows, v._mm512_shuffle_i64x2::<0x44>(second, second));
    [left, right]
}

#[inline(always)]
fn beside(v: Avx512, low: __m256i, high: __m256i) -> __m512i {
    v._mm512_inserti64x4::<1>(v._mm512_castsi256_si512(low), high)
}

/// Returns the words at the sum of two offsets from each quad's memory.
#[inline(always)]
fn texels_at(v: Avx512, [memory, other]: [TexelMemory<'_>; 2], row: __m256i, x: __m256i) -> __m256i {
    memory.words_of_two(v, other, v._mm256_add_epi32(row, x))
}

/// Returns the sizes of levels in the order of the lanes: x in the lower half, y in the upper one;
/// with `TWO` each quad has its own.
#[inline(always)]
fn sizes<const TWO: bool>(v: Avx512, level: &ImageLevel, other: &ImageLevel) -> __m512i {
    let first = size(v, level);
    if !TWO {
        let lanes = v._mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
        return v._mm512_permutexvar_epi32(lanes, v._mm512_castsi128_si512(first));
    }
    let both = v._mm_unpacklo_epi64(first, size(v, other));
    let lanes = v._mm512_setr_epi32(0, 0, 0, 0, 2, 2, 2, 2, 1, 1, 1, 1, 3, 3, 3, 3);
    v._mm512_permutexvar_epi32(lanes, v._mm512_castsi128_si512(both))
}

/// Returns width and height of a level.
#[inline(always)]
fn size(v: Avx512, level: &ImageLevel) -> __m128i {
    v.load_64(&[level.width, level.height])
}

/// Returns a level as the slice of the view's first layer.
#[inline(always)]
pub(crate) fn slice_of<'a>(view: ValidView<'a>, level: &ImageLevel, mask: u32) -> Slice<'a> {
    let memory = view.memory(level.offset);
    Slice { memory, pitch: level.row_pitch as u32, size: [level.width, level.height], mask }
}
