//! Samples of two chunks at once, without a filter: what [`Axes::sample`] does for one, with x and y of sixteen lanes a vector each, so that no half of a vector is for nothing.

use super::axes::{Axes, Kind, Source};
use super::wide::decoded;
use super::wrap::floor;
use core::arch::x86_64::*;

/// Texels (x, then y), and the size of their level.
type Inside = ([__m512i; 2], [__m512i; 2]);

impl<K: Kind> Axes<K> {
    /// The components of the texels at coordinates (x, then y). None where [`Axes::sample`] is to be asked for each chunk.
    ///
    /// # Safety
    /// As for [`Axes::sample`]; the view's texels are of four components in a word.
    #[inline(always)]
    pub(super) unsafe fn sample_two(&self, coords: [__m512; 2]) -> Option<[__m512; 4]> {
        // SAFETY: the caller's promise; these texels lie inside of the level.
        unsafe {
            let (texels, size) = self.inside(coords)?;
            Some(decoded(K::FOUR, K::Source::words(self, texels, size)?))
        }
    }

    /// Where coordinates lie; `None` of those that are far outside.
    ///
    /// # Safety
    /// The host is wide.
    #[inline(always)]
    unsafe fn inside(&self, [x, y]: [__m512; 2]) -> Option<Inside> {
        // SAFETY: the caller's promise.
        unsafe {
            let width = _mm512_shuffle_i64x2::<0x44>(self.grid.size, self.grid.size);
            let height = _mm512_shuffle_i64x2::<0xee>(self.grid.size, self.grid.size);
            let (u, v) = (_mm512_mul_ps(x, _mm512_cvtepi32_ps(width)), _mm512_mul_ps(y, _mm512_cvtepi32_ps(height)));
            let most = _mm512_set1_ps(self.grid.wrap.farthest());
            let far = _mm512_cmp_ps_mask::<_CMP_NLE_UQ>(_mm512_abs_ps(u), most)
                | _mm512_cmp_ps_mask::<_CMP_NLE_UQ>(_mm512_abs_ps(v), most);
            if far != 0 {
                return None;
            }
            let one = _mm512_set1_epi32(1);
            let [x] = self.grid.wrap.inside([floor(u)], width, _mm512_sub_epi32(width, one));
            let [y] = self.grid.wrap.inside([floor(v)], height, _mm512_sub_epi32(height, one));
            Some(([x, y], [width, height]))
        }
    }
}
