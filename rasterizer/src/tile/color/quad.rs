//! Texels of a quad from memory into words of lanes (`base::format::lanes`), and back.
//!
//! All four pixels of a quad are two rows of two texels, which are transposed in registers: SSE2 is part of every x86-64, and moving bits
//! has the same result everywhere. Other quads go texel by texel.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use base::abi::MAX_LANES;
use base::format::lanes::Lanes;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

/// Pixels of a sample of a quad.
#[derive(Clone, Copy)]
pub struct Quad {
    /// Pixel 0.
    pub at: *mut u8,
    /// Bytes to the second row.
    pub pitch: usize,
    /// Pixels that are touched.
    pub mask: u32,
    /// Its first lane: 0 or 4.
    pub lane: usize,
}

impl Quad {
    #[inline(always)]
    fn pixel<const N: usize>(&self, i: usize) -> *mut u8 {
        self.at.wrapping_add((i & 1) * N + (i >> 1) * self.pitch)
    }

    /// The words of the texels of `N` bytes (1, 2, 4, 8 or 16).
    ///
    /// # Safety
    /// The pixels in the mask are readable.
    #[inline(always)]
    pub unsafe fn read<const N: usize>(&self, words: &mut Lanes) {
        // SAFETY: the caller's contract: whole texels.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            if self.mask == 0xf && N >= 4 {
                return self.read_whole::<N>(words);
            }
            for i in 0..4 {
                if self.mask & (1 << i) == 0 {
                    continue;
                }
                let (p, lane) = (self.pixel::<N>(i), (self.lane + i) % MAX_LANES);
                match N {
                    1 => words[0][lane] = u32::from(p.read()),
                    2 => words[0][lane] = u32::from(p.cast::<u16>().read_unaligned()),
                    _ => {
                        for w in 0..N / 4 {
                            words[w][lane] = p.cast::<u32>().wrapping_add(w).read_unaligned();
                        }
                    }
                }
            }
        }
    }

    /// Writes the texels of `N` bytes (1, 2, 4, 8 or 16).
    ///
    /// # Safety
    /// The pixels in the mask are writable.
    #[inline(always)]
    pub unsafe fn write<const N: usize>(&self, words: &Lanes) {
        // SAFETY: the caller's contract: whole texels.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            if self.mask == 0xf && N >= 4 {
                return self.write_whole::<N>(words);
            }
            for i in 0..4 {
                if self.mask & (1 << i) == 0 {
                    continue;
                }
                let (p, lane) = (self.pixel::<N>(i), (self.lane + i) % MAX_LANES);
                match N {
                    1 => p.write(words[0][lane] as u8),
                    2 => p.cast::<u16>().write_unaligned(words[0][lane] as u16),
                    _ => {
                        for w in 0..N / 4 {
                            p.cast::<u32>().wrapping_add(w).write_unaligned(words[w][lane]);
                        }
                    }
                }
            }
        }
    }

    /// # Safety
    /// As for [`Quad::read`], all pixels; `N` is at least 4.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn read_whole<const N: usize>(&self, words: &mut Lanes) {
        let (top, bottom) = (self.at.cast::<__m128i>(), self.at.wrapping_add(self.pitch).cast::<__m128i>());
        let mut to = |w: usize| words[w].as_mut_ptr().wrapping_add(self.lane).cast::<__m128i>();
        // SAFETY: two rows of two texels; four lanes of each word.
        unsafe {
            match N {
                4 => _mm_storeu_si128(to(0), _mm_unpacklo_epi64(_mm_loadl_epi64(top), _mm_loadl_epi64(bottom))),
                8 => {
                    let (top, bottom) = (_mm_loadu_si128(top), _mm_loadu_si128(bottom));
                    let (a, b) = (_mm_castsi128_ps(top), _mm_castsi128_ps(bottom));
                    _mm_storeu_si128(to(0), _mm_castps_si128(_mm_shuffle_ps::<0b10_00_10_00>(a, b)));
                    _mm_storeu_si128(to(1), _mm_castps_si128(_mm_shuffle_ps::<0b11_01_11_01>(a, b)));
                }
                _ => {
                    let row = |row: *const __m128i| [_mm_loadu_si128(row), _mm_loadu_si128(row.wrapping_add(1))];
                    let [[a, b], [c, d]] = [row(top), row(bottom)];
                    let four = transposed([a, b, c, d]);
                    for w in 0..4 {
                        _mm_storeu_si128(to(w), four[w]);
                    }
                }
            }
        }
    }

    /// # Safety
    /// As for [`Quad::write`], all pixels; `N` is at least 4.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn write_whole<const N: usize>(&self, words: &Lanes) {
        let (top, bottom) = (self.at.cast::<__m128i>(), self.at.wrapping_add(self.pitch).cast::<__m128i>());
        // SAFETY: two rows of two texels; four lanes of each word.
        unsafe {
            let from = |w: usize| _mm_loadu_si128(words[w].as_ptr().wrapping_add(self.lane).cast());
            match N {
                4 => {
                    _mm_storel_epi64(top, from(0));
                    _mm_storel_epi64(bottom, _mm_unpackhi_epi64(from(0), from(0)));
                }
                8 => {
                    _mm_storeu_si128(top, _mm_unpacklo_epi32(from(0), from(1)));
                    _mm_storeu_si128(bottom, _mm_unpackhi_epi32(from(0), from(1)));
                }
                _ => {
                    let [a, b, c, d] = transposed([from(0), from(1), from(2), from(3)]);
                    _mm_storeu_si128(top, a);
                    _mm_storeu_si128(top.wrapping_add(1), b);
                    _mm_storeu_si128(bottom, c);
                    _mm_storeu_si128(bottom.wrapping_add(1), d);
                }
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn transposed([a, b, c, d]: [__m128i; 4]) -> [__m128i; 4] {
    // SAFETY: SSE2.
    unsafe {
        let (ab, cd) = (_mm_unpacklo_epi32(a, b), _mm_unpacklo_epi32(c, d));
        let (ab_high, cd_high) = (_mm_unpackhi_epi32(a, b), _mm_unpackhi_epi32(c, d));
        [
            _mm_unpacklo_epi64(ab, cd),
            _mm_unpackhi_epi64(ab, cd),
            _mm_unpacklo_epi64(ab_high, cd_high),
            _mm_unpackhi_epi64(ab_high, cd_high),
        ]
    }
}
