//! Packing of half floats: the steps of `base::format::float::f32_to_half` on eight lanes. (Left to the compiler, those of a whole
//! texel are no vectors any more.)

use super::equation::Floats;
use super::pair::LANES;
use base::format::float::f32_to_half;
use base::format::lanes::Lanes;
use base::host::{Host, Level};
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

/// The words of texels of `channels` halves (1, 2 or 4).
#[inline(always)]
pub fn pack<H: Host>(color: &Floats<LANES>, channels: usize) -> Lanes {
    let mut words = [[0; LANES]; 4];
    words[0] = word::<H>(&color[0], (channels > 1).then_some(&color[1]));
    if channels > 2 {
        words[1] = word::<H>(&color[2], Some(&color[3]));
    }
    words
}

/// A low half and a high one.
#[inline(always)]
fn word<H: Host>(low: &[f32; LANES], high: Option<&[f32; LANES]>) -> [u32; LANES] {
    #[cfg(target_arch = "x86_64")]
    if H::LEVEL != Level::Portable {
        // SAFETY: the host has AVX2, as it has level H; the same size, any bits.
        return unsafe {
            let mut both = halves(low);
            if let Some(high) = high {
                both = _mm256_or_si256(both, _mm256_slli_epi32::<16>(halves(high)));
            }
            core::mem::transmute::<__m256i, [u32; LANES]>(both)
        };
    }
    core::array::from_fn(|i| f32_to_half(low[i]) | high.map_or(0, |high| f32_to_half(high[i]) << 16))
}

/// # Safety
/// The host has AVX2.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn halves(floats: &[f32; LANES]) -> __m256i {
    // SAFETY: the caller's promise; eight floats.
    unsafe {
        let bits = _mm256_loadu_si256(floats.as_ptr().cast());
        let sign = _mm256_and_si256(_mm256_srli_epi32::<16>(bits), _mm256_set1_epi32(0x8000));
        let magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fff_ffff));
        let half = _mm256_set1_epi32(0x3f00_0000);
        let sum = _mm256_add_ps(_mm256_castsi256_ps(magnitude), _mm256_castsi256_ps(half));
        let denormal = _mm256_sub_epi32(_mm256_castps_si256(sum), half);
        let odd = _mm256_and_si256(_mm256_srli_epi32::<13>(magnitude), _mm256_set1_epi32(1));
        let rebased = _mm256_sub_epi32(magnitude, _mm256_set1_epi32((112 << 23) - 0xfff));
        let normal = _mm256_srli_epi32::<13>(_mm256_add_epi32(rebased, odd));
        let small = _mm256_cmpgt_epi32(_mm256_set1_epi32(0x3880_0000), magnitude);
        let large = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x477f_ffff));
        let nan = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7f80_0000));
        let finite = _mm256_blendv_epi8(normal, denormal, small);
        let overflow = _mm256_or_si256(_mm256_set1_epi32(0x7c00), _mm256_and_si256(nan, _mm256_set1_epi32(0x0200)));
        _mm256_or_si256(sign, _mm256_blendv_epi8(finite, overflow, large))
    }
}
