//! Samples of two chunks at once without a filter. They equal those of [`LevelSampler::sample`],
//! but x and y of sixteen lanes are one vector each, so that no half of a vector is unused.

use super::bilinear::decoded;
use super::level::{LevelSampler, SampleKind, TexelSource};
use super::wrap::floor;
use core::arch::x86_64::*;

/// Texels (x, then y), and the size of their level in the same order.
type WrappedTexels = ([__m512i; 2], [__m512i; 2]);

impl<K: SampleKind> LevelSampler<K> {
    /// Returns the components of the texels at coordinates (x, then y). `None` means that the
    /// caller must use [`LevelSampler::sample`] for each chunk.
    ///
    /// # Safety
    /// The requirements of [`LevelSampler::sample`] hold; the view's texels have four components in
    /// one word.
    #[inline(always)]
    pub(crate) unsafe fn sample_two(&self, coords: [__m512; 2]) -> Option<[__m512; 4]> {
        // SAFETY: the requirements of `LevelSampler::sample` hold (`# Safety`), and the texels lie
        // inside of the level.
        unsafe {
            let (texels, size) = self.inside(coords)?;
            Some(decoded(K::FOUR, K::TexelSource::words(self, texels, size)?))
        }
    }

    /// Returns the wrapped texels at coordinates; `None` if lanes are far outside.
    ///
    /// # Safety
    /// The host has the 512-bit level.
    #[inline(always)]
    unsafe fn inside(&self, [x, y]: [__m512; 2]) -> Option<WrappedTexels> {
        // SAFETY: the host has the 512-bit level (`# Safety`).
        unsafe {
            let width = _mm512_shuffle_i64x2::<0x44>(self.grid.size, self.grid.size);
            let height = _mm512_shuffle_i64x2::<0xee>(self.grid.size, self.grid.size);
            let (u, v) = (_mm512_mul_ps(x, _mm512_cvtepi32_ps(width)), _mm512_mul_ps(y, _mm512_cvtepi32_ps(height)));
            let max = _mm512_set1_ps(self.grid.wrap.farthest());
            let far = _mm512_cmp_ps_mask::<_CMP_NLE_UQ>(_mm512_abs_ps(u), max)
                | _mm512_cmp_ps_mask::<_CMP_NLE_UQ>(_mm512_abs_ps(v), max);
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
