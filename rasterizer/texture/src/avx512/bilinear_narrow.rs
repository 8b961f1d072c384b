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
use super::quad_windows::{
    WindowShape, by_axis, lerp, min_of_quads, row_at, second_window, window, windows_at, within,
};
use base::format::lanes::NarrowTexel;
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
    pub slice: &'a Slice,
    /// Size of the level in the order of the lanes: x in the lower half, y in the upper one.
    pub size: __m512i,
    /// True if the level is wide enough for the window of all lanes.
    pub fits_all_lanes: bool,
}

impl NarrowWindows<'_> {
    /// Returns the filtered components of texels, two per vector, as `axes::Source::find` does.
    ///
    /// # Safety
    /// The texels lie inside of the level, which has at least 4×4 texels; the host has the 512-bit
    /// level.
    #[inline(always)]
    pub(crate) unsafe fn find<const LINEAR: bool>(
        &self,
        [first, second]: [__m512i; 2],
        weight: __m512,
        far: u16,
    ) -> Option<[__m512; 2]> {
        let mask = self.slice.mask;
        // SAFETY: the texels lie inside of the level (`# Safety`), and so do windows.
        unsafe {
            let quads = min_of_quads(first);
            if self.fits_all_lanes {
                let all = _mm512_min_epi32(quads, _mm512_shuffle_i64x2::<0b10_11_00_01>(quads, quads));
                let seen = [all, first, second, self.size];
                if let Some([min, first, second]) = within([width(self.few), HEIGHT], seen, far, mask) {
                    // The distance between the quads predicts where the next chunk lies.
                    self.slice.prefetch_after::<4>(self.at(quads));
                    let rows = self.of_all(self.at(min)[0]);
                    let numbers = match width(self.few) {
                        16 => self.numbers::<4, LINEAR>([first, second]),
                        _ => self.numbers::<3, LINEAR>([first, second]),
                    };
                    return Some(self.filter::<LINEAR>(rows, numbers, weight));
                }
            }
            let [min, first, second] =
                within(WindowShape::Square.sides(), [quads, first, second, self.size], far, mask)?;
            let at = self.at(min);
            self.slice.prefetch_after::<4>(at);
            let of_quad = second_window();
            let [left, right] = self.numbers::<2, LINEAR>([first, second]);
            let numbers = [_mm512_or_si512(left, of_quad), _mm512_or_si512(right, of_quad)];
            Some(self.filter::<LINEAR>(self.of_quads(at), numbers, weight))
        }
    }

    /// Returns the offsets of the texels of both quads' first lanes.
    ///
    /// # Safety
    /// The host has the 512-bit level.
    #[inline(always)]
    unsafe fn at(&self, texels: __m512i) -> [u32; 2] {
        let pitches = [self.slice.pitch; 2];
        // SAFETY: the host has the 512-bit level (`# Safety`).
        unsafe {
            match self.few.bytes() {
                1 => windows_at::<0>(texels, pitches),
                2 => windows_at::<1>(texels, pitches),
                _ => windows_at::<2>(texels, pitches),
            }
        }
    }

    /// Returns the numbers of the left and of the right texels in windows with rows of `1 << SHIFT`
    /// texels. Each vector has the upper texels of all lanes, then the lower ones (without `LINEAR`
    /// the first ones, twice).
    ///
    /// # Safety
    /// The host has the 512-bit level.
    #[inline(always)]
    unsafe fn numbers<const SHIFT: u32, const LINEAR: bool>(&self, [first, second]: [__m512i; 2]) -> [__m512i; 2] {
        // SAFETY: the host has the 512-bit level (`# Safety`).
        unsafe {
            let rows = _mm512_slli_epi32::<SHIFT>(_mm512_shuffle_i64x2::<0xee>(first, second));
            let left = _mm512_or_si512(rows, _mm512_shuffle_i64x2::<0x44>(first, first));
            if !LINEAR {
                return [left; 2];
            }
            [left, _mm512_or_si512(rows, _mm512_shuffle_i64x2::<0x44>(second, second))]
        }
    }

    /// Loads the window of all lanes, as one vector or as two.
    ///
    /// # Safety
    /// The window lies inside of the level, and the host has the 512-bit level.
    #[inline(always)]
    unsafe fn of_all(&self, at: u32) -> [__m512i; 2] {
        let slice = self.slice;
        // SAFETY: the window lies inside of the level (`# Safety`); it has four rows of 16 bytes,
        // or of 32.
        unsafe {
            if self.few.bytes() < 4 {
                return [window(WindowShape::Square, slice, at); 2];
            }
            let below = at + 2 * slice.pitch;
            [window(WindowShape::Rows, slice, at), window(WindowShape::Rows, slice, below)]
        }
    }

    /// Loads the windows of both quads, as one vector or as two.
    ///
    /// # Safety
    /// The windows lie inside of the level, and the host has the 512-bit level.
    #[inline(always)]
    unsafe fn of_quads(&self, [first, second]: [u32; 2]) -> [__m512i; 2] {
        let slice = self.slice;
        // SAFETY: the windows lie inside of the level (`# Safety`); they have four rows of four
        // texels each.
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
                _ => [window(WindowShape::Square, slice, first), window(WindowShape::Square, slice, second)],
            }
        }
    }

    /// Returns the filtered texels with these numbers in the windows: the first component of all
    /// lanes, then the second one.
    ///
    /// # Safety
    /// The host has the 512-bit level.
    #[inline(always)]
    unsafe fn filter<const LINEAR: bool>(
        &self,
        windows: [__m512i; 2],
        [left, right]: [__m512i; 2],
        weight: __m512,
    ) -> [__m512; 2] {
        let few = self.few;
        // SAFETY: the host has the 512-bit level (`# Safety`).
        unsafe {
            let [r, g, b, a] = few_components(few, chosen(few, windows, left));
            let rest = _mm512_mask_mov_ps(b, 0xff00, a);
            if !LINEAR {
                return [_mm512_mask_mov_ps(r, 0xff00, g), rest];
            }
            let [red, green, ..] = few_components(few, chosen(few, windows, right));
            let [across, down] = by_axis(weight);
            let first = lerp(r, red, across);
            // With one component, the second one is constant.
            let second = if few.components == 1 { g } else { lerp(g, green, across) };
            let above = _mm512_shuffle_f32x4::<0x44>(first, second);
            let below = _mm512_shuffle_f32x4::<0xee>(first, second);
            [lerp(above, below, down), rest]
        }
    }
}

/// Returns texels by their numbers in windows; bits above a texel's bytes have no meaning.
#[inline(always)]
unsafe fn chosen(few: NarrowTexel, [first, second]: [__m512i; 2], numbers: __m512i) -> __m512i {
    // SAFETY: all callers require the 512-bit level.
    unsafe {
        match few.bytes() {
            1 => _mm512_permutexvar_epi8(numbers, first),
            2 => _mm512_permutexvar_epi16(numbers, first),
            _ => _mm512_permutex2var_epi32(first, numbers, second),
        }
    }
}
