//! Texels that two chunks sample without a filter, with x and y of sixteen lanes as one vector
//! each. They are one window if the lanes are neighbours (four quads of a block or of a row), or
//! they are gathered.

use super::super::slice::Slice;
use super::quad_windows::{COMMON, WindowShape, window as load};
use base::host::Avx512;
use core::arch::x86_64::*;
use core::cell::Cell;

/// A prediction: after lanes were not neighbours, they are not expected to be for some chunks.
#[derive(Default)]
pub(crate) struct NeighbourPrediction {
    /// Number of chunks to skip after the next failure.
    pause: Cell<u32>,
    /// Number of chunks that are still skipped.
    left: Cell<u32>,
}

impl NeighbourPrediction {
    #[inline(always)]
    pub(crate) fn expected(&self) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        left == 0
    }

    #[inline(always)]
    pub(crate) fn succeeded(&self) {
        self.pause.set(0);
    }

    #[inline(always)]
    pub(crate) fn failed(&self) {
        self.left.set(self.pause.get());
        self.pause.set((2 * self.pause.get() + 1).min(15));
    }
}

/// Returns the smaller one of the first lane and the last lane, in all lanes. It is the smallest of
/// all lanes along an axis of the image if they are a block or a row of quads.
#[inline(always)]
fn min_of_ends(v: Avx512, of: __m512i) -> __m512i {
    let first = v._mm512_broadcastd_epi32(v._mm512_castsi512_si128(of));
    v._mm512_min_epi32(first, v._mm512_permutexvar_epi32(v._mm512_set1_epi32(15), of))
}

/// Returns the words of texels if one window has all of them; the window is at most as large as the
/// level.
#[inline(always)]
pub(crate) fn window(
    v: Avx512,
    slice: &Slice<'_>,
    [x, y]: [__m512i; 2],
    [width, height]: [__m512i; 2],
) -> Option<__m512i> {
    let sides = [v._mm512_set1_epi32(COMMON[0]), v._mm512_set1_epi32(COMMON[1])];
    let left = v._mm512_min_epi32(min_of_ends(v, x), v._mm512_sub_epi32(width, sides[0]));
    let top = v._mm512_min_epi32(min_of_ends(v, y), v._mm512_sub_epi32(height, sides[1]));
    let (column, row) = (v._mm512_sub_epi32(x, left), v._mm512_sub_epi32(y, top));
    let outside = v._mm512_cmpge_epu32_mask(column, sides[0]) | v._mm512_cmpge_epu32_mask(row, sides[1]);
    if outside != 0 {
        return None;
    }
    let numbers = v._mm512_or_si512(column, v._mm512_slli_epi32::<{ COMMON[0].trailing_zeros() }>(row));
    let left = v._mm_cvtsi128_si32(v._mm512_castsi512_si128(left)) as u32;
    let top = v._mm_cvtsi128_si32(v._mm512_castsi512_si128(top)) as u32;
    let at = top * slice.pitch + 4 * left;
    let lower = load(v, WindowShape::Rows, slice, at + 2 * slice.pitch);
    Some(v._mm512_permutex2var_epi32(load(v, WindowShape::Rows, slice, at), numbers, lower))
}

/// Returns the words of texels at any positions.
#[inline(always)]
pub(crate) fn apart(v: Avx512, slice: &Slice<'_>, [x, y]: [__m512i; 2]) -> __m512i {
    let rows = v._mm512_mullo_epi32(y, v._mm512_set1_epi32(slice.pitch as i32));
    let offsets = v._mm512_add_epi32(rows, v._mm512_slli_epi32::<2>(x));
    slice.memory.sixteen_words::<1>(v, offsets)
}
