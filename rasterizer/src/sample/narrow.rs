//! Filters in vectors of 512 bits of texels of one or two unsigned normalised components ([`Few`]): luma and chroma of video, masks, glyphs, heights.
//!
//! Such texels are small: the four rows that all lanes of a chunk see, where they are magnified or lie side by side, are one vector (or two, of texels of 4 bytes), out
//! of which one permutation chooses the left texels of all lanes, above and below, and another one the right ones. Where quads lie apart, each has a window of 4×4 texels.
//!
//! The bits are those of `planar`'s filter: the same operations on the same numbers.

use super::quads::{Shape, by_axis, least_of_quads, lerp, row_at, second_window, window, windows_at, within};
use super::slice::Slice;
use super::wide::few_components;
use base::format::lanes::Few;
use core::arch::x86_64::*;

/// Texels in a row of the window of all lanes.
#[inline(always)]
pub(super) const fn width(few: Few) -> i32 {
    if few.bytes() == 1 { 16 } else { 8 }
}

/// Its rows, and those of a quad's.
const HEIGHT: i32 = 4;

/// Of a level.
pub(super) struct Windows<'a> {
    pub few: Few,
    pub slice: &'a Slice,
    /// As lanes have it: x in the lower half, y in the upper one.
    pub size: __m512i,
    /// There is room for the window of all lanes.
    pub wide: bool,
}

impl Windows<'_> {
    /// Two components at a time of texels, filtered: as `axes::Source::find`.
    ///
    /// # Safety
    /// The texels lie inside of the level, which has 4×4; the host is wide.
    #[inline(always)]
    pub(super) unsafe fn find<const LINEAR: bool>(
        &self,
        [first, second]: [__m512i; 2],
        weight: __m512,
        far: u16,
    ) -> Option<[__m512; 2]> {
        let mask = self.slice.mask;
        // SAFETY: the caller's promise; windows lie inside of the level, too.
        unsafe {
            let quads = least_of_quads(first);
            if self.wide {
                let all = _mm512_min_epi32(quads, _mm512_shuffle_i64x2::<0b10_11_00_01>(quads, quads));
                let seen = [all, first, second, self.size];
                if let Some([least, first, second]) = within([width(self.few), HEIGHT], seen, far, mask) {
                    // What comes next, by where the quads are.
                    self.slice.prefetch_after::<4>(self.at(quads));
                    let rows = self.of_all(self.at(least)[0]);
                    let numbers = match width(self.few) {
                        16 => self.numbers::<4, LINEAR>([first, second]),
                        _ => self.numbers::<3, LINEAR>([first, second]),
                    };
                    return Some(self.filter::<LINEAR>(rows, numbers, weight));
                }
            }
            let [least, first, second] = within(Shape::Square.sides(), [quads, first, second, self.size], far, mask)?;
            let at = self.at(least);
            self.slice.prefetch_after::<4>(at);
            let of_quad = second_window();
            let [left, right] = self.numbers::<2, LINEAR>([first, second]);
            let numbers = [_mm512_or_si512(left, of_quad), _mm512_or_si512(right, of_quad)];
            Some(self.filter::<LINEAR>(self.of_quads(at), numbers, weight))
        }
    }

    /// Where the texels of both quads' first lanes lie.
    ///
    /// # Safety
    /// The host is wide.
    #[inline(always)]
    unsafe fn at(&self, texels: __m512i) -> [u32; 2] {
        let pitches = [self.slice.pitch; 2];
        // SAFETY: the caller's promise.
        unsafe {
            match self.few.bytes() {
                1 => windows_at::<0>(texels, pitches),
                2 => windows_at::<1>(texels, pitches),
                _ => windows_at::<2>(texels, pitches),
            }
        }
    }

    /// The numbers of the texels in windows of rows of `1 << SHIFT`, of the left side and the right one: of all lanes those above, then those below (without `LINEAR` the
    /// first ones, twice).
    ///
    /// # Safety
    /// The host is wide.
    #[inline(always)]
    unsafe fn numbers<const SHIFT: u32, const LINEAR: bool>(&self, [first, second]: [__m512i; 2]) -> [__m512i; 2] {
        // SAFETY: the caller's promise.
        unsafe {
            let rows = _mm512_slli_epi32::<SHIFT>(_mm512_shuffle_i64x2::<0xee>(first, second));
            let left = _mm512_or_si512(rows, _mm512_shuffle_i64x2::<0x44>(first, first));
            if !LINEAR {
                return [left; 2];
            }
            [left, _mm512_or_si512(rows, _mm512_shuffle_i64x2::<0x44>(second, second))]
        }
    }

    /// The window of all lanes, as one vector or as two.
    ///
    /// # Safety
    /// It lies inside of the level; the host is wide.
    #[inline(always)]
    unsafe fn of_all(&self, at: u32) -> [__m512i; 2] {
        let slice = self.slice;
        // SAFETY: the caller's promise: four rows of 16 bytes, or of 32.
        unsafe {
            if self.few.bytes() < 4 {
                return [window(Shape::Square, slice, at); 2];
            }
            let below = at + 2 * slice.pitch;
            [window(Shape::Rows, slice, at), window(Shape::Rows, slice, below)]
        }
    }

    /// The windows of both quads, likewise.
    ///
    /// # Safety
    /// They lie inside of the level; the host is wide.
    #[inline(always)]
    unsafe fn of_quads(&self, [first, second]: [u32; 2]) -> [__m512i; 2] {
        let slice = self.slice;
        // SAFETY: the caller's promise: four rows of four texels each.
        unsafe {
            match self.few.bytes() {
                1 => {
                    let four = |at| {
                        let row = |y| row_at::<i32>(slice, at, y).read_unaligned();
                        _mm_setr_epi32(row(0), row(1), row(2), row(3))
                    };
                    [_mm512_castsi256_si512(_mm256_set_m128i(four(second), four(first))); 2]
                }
                2 => {
                    let two = |at, y| {
                        let (above, below) = (row_at(slice, at, y), row_at(slice, at, y + 1));
                        _mm_unpacklo_epi64(_mm_loadl_epi64(above), _mm_loadl_epi64(below))
                    };
                    let rows = _mm512_castsi128_si512(two(first, 0));
                    let rows = _mm512_inserti32x4::<1>(rows, two(first, 2));
                    let rows = _mm512_inserti32x4::<2>(rows, two(second, 0));
                    [_mm512_inserti32x4::<3>(rows, two(second, 2)); 2]
                }
                _ => [window(Shape::Square, slice, first), window(Shape::Square, slice, second)],
            }
        }
    }

    /// The texels of these numbers in the windows, filtered; of all lanes the first component, then the second one.
    ///
    /// # Safety
    /// The host is wide.
    #[inline(always)]
    unsafe fn filter<const LINEAR: bool>(
        &self,
        windows: [__m512i; 2],
        [left, right]: [__m512i; 2],
        weight: __m512,
    ) -> [__m512; 2] {
        let few = self.few;
        // SAFETY: the caller's promise.
        unsafe {
            let [r, g, b, a] = few_components(few, chosen(few, windows, left));
            let rest = _mm512_mask_mov_ps(b, 0xff00, a);
            if !LINEAR {
                return [_mm512_mask_mov_ps(r, 0xff00, g), rest];
            }
            let [red, green, ..] = few_components(few, chosen(few, windows, right));
            let [across, down] = by_axis(weight);
            let first = lerp(r, red, across);
            // (Of one component: nothing.)
            let second = if few.components == 1 { g } else { lerp(g, green, across) };
            let above = _mm512_shuffle_f32x4::<0x44>(first, second);
            let below = _mm512_shuffle_f32x4::<0xee>(first, second);
            [lerp(above, below, down), rest]
        }
    }
}

/// Texels by their numbers in windows. What lies above a texel's bytes means nothing.
#[inline(always)]
unsafe fn chosen(few: Few, [first, second]: [__m512i; 2], numbers: __m512i) -> __m512i {
    // SAFETY: the caller's host is wide.
    unsafe {
        match few.bytes() {
            1 => _mm512_permutexvar_epi8(numbers, first),
            2 => _mm512_permutexvar_epi16(numbers, first),
            _ => _mm512_permutex2var_epi32(first, numbers, second),
        }
    }
}
