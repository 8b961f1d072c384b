//! Filters in 512-bit vectors for texels of one or two unsigned normalised components
//! ([`NarrowTexel`]): luma and chroma of video, masks, glyphs, heights.
//!
//! Such texels are small. If they are magnified or lie side by side, the four rows that all lanes
//! of a chunk sample are one vector (or two, for texels of 4 bytes). One permutation of it selects
//! the left texels of all lanes, above and below, and another one the right texels. If quads lie
//! apart, each has a window of 4×4 texels.
//!
//! The results have the bits of `planar`'s filter, because the operations and numbers are the same.

use super::super::slice::Slice;
use super::bilinear::few_components;
use super::quad_windows::{WindowShape, by_axis, lerp, min_of_quads, second_window, window, windows_at, within};
use base::format::lanes::NarrowTexel;
use base::host::Avx512;
use core::arch::x86_64::*;

/// Returns the number of texels in a row of the window of all lanes.
#[inline(always)]
pub(crate) const fn width(few: NarrowTexel) -> i32 {
    if few.bytes() == 1 { 16 } else { 8 }
}

/// Number of rows of the window of all lanes, and of a quad's window.
const HEIGHT: i32 = 4;

/// The windows of a level.
pub(crate) struct NarrowWindows<'a> {
    pub few: NarrowTexel,
    pub slice: &'a Slice<'a>,
    /// Size of the level in the order of the lanes: x in the lower half, y in the upper one.
    pub size: __m512i,
    /// True if the level is wide enough for the window of all lanes.
    pub fits_all_lanes: bool,
}

impl NarrowWindows<'_> {
    /// Returns the filtered components of texels, two per vector, as `axes::Source::find` does.
    #[inline(always)]
    pub(crate) fn find<const LINEAR: bool>(
        &self,
        v: Avx512,
        [first, second]: [__m512i; 2],
        weight: __m512,
        far: u16,
    ) -> Option<[__m512; 2]> {
        let mask = self.slice.mask;
        let quads = min_of_quads(v, first);
        if self.fits_all_lanes {
            let all = v._mm512_min_epi32(quads, v._mm512_shuffle_i64x2::<0b10_11_00_01>(quads, quads));
            let seen = [all, first, second, self.size];
            if let Some([min, first, second]) = within(v, [width(self.few), HEIGHT], seen, far, mask) {
                // The distance between the quads predicts where the next chunk lies.
                self.slice.prefetch_after::<4>(self.at(v, quads));
                let rows = self.of_all(v, self.at(v, min)[0]);
                let numbers = match width(self.few) {
                    16 => self.numbers::<4, LINEAR>(v, [first, second]),
                    _ => self.numbers::<3, LINEAR>(v, [first, second]),
                };
                return Some(self.filter::<LINEAR>(v, rows, numbers, weight));
            }
        }
        let [min, first, second] =
            within(v, WindowShape::Square.sides(), [quads, first, second, self.size], far, mask)?;
        let at = self.at(v, min);
        self.slice.prefetch_after::<4>(at);
        let of_quad = second_window(v);
        let [left, right] = self.numbers::<2, LINEAR>(v, [first, second]);
        let numbers = [v._mm512_or_si512(left, of_quad), v._mm512_or_si512(right, of_quad)];
        Some(self.filter::<LINEAR>(v, self.of_quads(v, at), numbers, weight))
    }

    /// Returns the offsets of the texels of both quads' first lanes.
    #[inline(always)]
    fn at(&self, v: Avx512, texels: __m512i) -> [u32; 2] {
        let pitches = [self.slice.pitch; 2];
        match self.few.bytes() {
            1 => windows_at::<0>(v, texels, pitches),
            2 => windows_at::<1>(v, texels, pitches),
            _ => windows_at::<2>(v, texels, pitches),
        }
    }

    /// Returns the numbers of the left and of the right texels in windows with rows of `1 << SHIFT`
    /// texels. Each vector has the upper texels of all lanes, then the lower ones (without `LINEAR`
    /// the first ones, twice).
    #[inline(always)]
    fn numbers<const SHIFT: u32, const LINEAR: bool>(&self, v: Avx512, [first, second]: [__m512i; 2]) -> [__m512i; 2] {
        let rows = v._mm512_slli_epi32::<SHIFT>(v._mm512_shuffle_i64x2::<0xee>(first, second));
        let left = v._mm512_or_si512(rows, v._mm512_shuffle_i64x2::<0x44>(first, first));
        if !LINEAR {
            return [left; 2];
        }
        [left, v._mm512_or_si512(rows, v._mm512_shuffle_i64x2::<0x44>(second, second))]
    }

    /// Loads the window of all lanes, as one vector or as two.
    #[inline(always)]
    fn of_all(&self, v: Avx512, at: u32) -> [__m512i; 2] {
        let slice = self.slice;
        if self.few.bytes() < 4 {
            return [window(v, WindowShape::Square, slice, at); 2];
        }
        let below = at + 2 * slice.pitch;
        [window(v, WindowShape::Rows, slice, at), window(v, WindowShape::Rows, slice, below)]
    }

    /// Loads the windows of both quads, as one vector or as two.
    #[inline(always)]
    fn of_quads(&self, v: Avx512, [first, second]: [u32; 2]) -> [__m512i; 2] {
        let slice = self.slice;
        match self.few.bytes() {
            1 => {
                let [first, second] = [slice.rows::<i32, 4>(first), slice.rows::<i32, 4>(second)];
                [v._mm512_castsi256_si512(v._mm256_set_m128i(v.load_128(&second), v.load_128(&first))); 2]
            }
            2 => {
                let [first, second] = [slice.rows::<[i32; 2], 4>(first), slice.rows::<[i32; 2], 4>(second)];
                let rows = v._mm512_castsi128_si512(two_rows(v, &first[0], &first[1]));
                let rows = v._mm512_inserti32x4::<1>(rows, two_rows(v, &first[2], &first[3]));
                let rows = v._mm512_inserti32x4::<2>(rows, two_rows(v, &second[0], &second[1]));
                [v._mm512_inserti32x4::<3>(rows, two_rows(v, &second[2], &second[3])); 2]
            }
            _ => [window(v, WindowShape::Square, slice, first), window(v, WindowShape::Square, slice, second)],
        }
    }

    /// Returns the filtered texels with these numbers in the windows: the first component of all
    /// lanes, then the second one.
    #[inline(always)]
    fn filter<const LINEAR: bool>(
        &self,
        v: Avx512,
        windows: [__m512i; 2],
        [left, right]: [__m512i; 2],
        weight: __m512,
    ) -> [__m512; 2] {
        let few = self.few;
        let [r, g, b, a] = few_components(v, few, chosen(v, few, windows, left));
        let rest = v._mm512_mask_mov_ps(b, 0xff00, a);
        if !LINEAR {
            return [v._mm512_mask_mov_ps(r, 0xff00, g), rest];
        }
        let [red, green, ..] = few_components(v, few, chosen(v, few, windows, right));
        let [across, down] = by_axis(v, weight);
        let first = lerp(v, r, red, across);
        // With one component, the second one is constant.
        let second = if few.components == 1 { g } else { lerp(v, g, green, across) };
        let above = v._mm512_shuffle_f32x4::<0x44>(first, second);
        let below = v._mm512_shuffle_f32x4::<0xee>(first, second);
        [lerp(v, above, below, down), rest]
    }
}

/// Returns a row in the lower half of a vector, and the next one in the upper half.
#[inline(always)]
fn two_rows(v: Avx512, above: &[i32; 2], below: &[i32; 2]) -> __m128i {
    v._mm_unpacklo_epi64(v.load_64(above), v.load_64(below))
}

/// Returns texels by their numbers in windows; bits above a texel's bytes have no meaning.
#[inline(always)]
fn chosen(v: Avx512, few: NarrowTexel, [first, second]: [__m512i; 2], numbers: __m512i) -> __m512i {
    match few.bytes() {
        1 => v._mm512_permutexvar_epi8(numbers, first),
        2 => v._mm512_permutexvar_epi16(numbers, first),
        _ => v._mm512_permutex2var_epi32(first, numbers, second),
    }
}
