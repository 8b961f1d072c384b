//! Samples of two chunks at once without a filter. They equal those of [`LevelSampler::sample`],
//! but x and y of sixteen lanes are one vector each, so that no half of a vector is unused.

use super::bilinear::decoded;
use super::level::{LevelSampler, SampleKind, TexelSource};
use super::wrap::floor;
use base::host::Avx512;
use core::arch::x86_64::*;

/// Texels (x, then y), and the size of their level in the same order.
type WrappedTexels = ([__m512i; 2], [__m512i; 2]);

impl<K: SampleKind> LevelSampler<'_, K> {
    /// Returns the components of the texels at coordinates (x, then y). `None` means that the
    /// caller must use [`LevelSampler::sample`] for each chunk.
    #[inline(always)]
    pub(crate) fn sample_two(&self, v: Avx512, coords: [__m512; 2]) -> Option<[__m512; 4]> {
        let (texels, size) = self.inside(v, coords)?;
        let words = K::TexelSource::words(v, self, texels, size)?;
        Some(decoded(v, K::FOUR, words))
    }

    /// Returns the wrapped texels at coordinates; `None` if lanes are far outside.
    #[inline(always)]
    fn inside(&self, v: Avx512, [x, y]: [__m512; 2]) -> Option<WrappedTexels> {
        let width = v._mm512_shuffle_i64x2::<0x44>(self.grid.size, self.grid.size);
        let height = v._mm512_shuffle_i64x2::<0xee>(self.grid.size, self.grid.size);
        let (across, down) =
            (v._mm512_mul_ps(x, v._mm512_cvtepi32_ps(width)), v._mm512_mul_ps(y, v._mm512_cvtepi32_ps(height)));
        let max = v._mm512_set1_ps(self.grid.wrap.farthest());
        let far = v._mm512_cmp_ps_mask::<_CMP_NLE_UQ>(v._mm512_abs_ps(across), max)
            | v._mm512_cmp_ps_mask::<_CMP_NLE_UQ>(v._mm512_abs_ps(down), max);
        if far != 0 {
            return None;
        }
        let one = v._mm512_set1_epi32(1);
        let [x] = self.grid.wrap.inside(v, [floor(v, across)], width, v._mm512_sub_epi32(width, one));
        let [y] = self.grid.wrap.inside(v, [floor(v, down)], height, v._mm512_sub_epi32(height, one));
        Some(([x, y], [width, height]))
    }
}
