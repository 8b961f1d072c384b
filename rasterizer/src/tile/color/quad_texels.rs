//! Texels of pairs of quads in memory, and as words of lanes (`base::format::lanes`): word `w` of
//! lane `4 * quad + pixel`.
//!
//! A quad is two rows of two texels, which are transposed in registers. SSE2 is part of every
//! x86-64, and moving bits has the same result everywhere.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use base::host::{Host, Ints};
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

/// Number of lanes of a pair of quads.
pub const LANES: usize = 8;
/// Largest number of bytes of a texel.
pub const MAX_TEXEL_BYTES: usize = 16;

/// Returns the words of texels of four bytes.
#[inline(always)]
pub fn words<I: Ints>(texels: I) -> [I; 4] {
    let zero = I::splat(0);
    [texels, zero, zero, zero]
}

/// Addresses of the rows of a pair's quads: for each quad the upper and the lower one.
#[derive(Clone, Copy)]
pub struct PairRows(pub [[*mut u8; 2]; 2]);

/// Evaluates `$call` with `$n` as a constant: the number of a texel's bytes, which is
/// `$known`, or `$bytes` if `$known` is 0.
#[cfg(target_arch = "x86_64")]
macro_rules! with_bytes {
    ($known:expr, $bytes:expr, $n:ident => $call:expr) => {{
        macro_rules! sized {
            ($size:literal) => {{
                const $n: usize = $size;
                $call
            }};
        }
        match if $known == 0 { $bytes } else { $known } {
            1 => sized!(1),
            2 => sized!(2),
            4 => sized!(4),
            8 => sized!(8),
            12 => sized!(12),
            _ => sized!(16),
        }
    }};
}

impl PairRows {
    /// Reads the words of texels of `N` bytes, or of `bytes` bytes (1, 2, 4, 8, 12 or 16) if `N` is
    /// 0.
    ///
    /// # Safety
    /// Both texels of all rows are readable.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub unsafe fn read<H: Host, const N: usize>(&self, host: H, bytes: usize) -> [H::Ints; 4] {
        let [first, second] = self.0;
        // SAFETY: all rows are readable (`# Safety`), and the host has level `H`.
        unsafe {
            let [a, b] = with_bytes!(N, bytes, SIZE => [read_quad::<SIZE>(first), read_quad::<SIZE>(second)]);
            [host.join(a[0], b[0]), host.join(a[1], b[1]), host.join(a[2], b[2]), host.join(a[3], b[3])]
        }
    }

    /// Writes the words of texels. (Bits beyond a texel of one or two bytes are ignored.)
    ///
    /// # Safety
    /// Both texels of all rows are writable.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub unsafe fn write<H: Host, const N: usize>(&self, bytes: usize, words: [H::Ints; 4]) {
        let [first, second] = self.0;
        let [a, b, c, d] = words;
        // SAFETY: all rows are writable (`# Safety`), and the host has level `H`.
        unsafe {
            let ([a0, a1], [b0, b1], [c0, c1], [d0, d1]) = (H::split(a), H::split(b), H::split(c), H::split(d));
            with_bytes!(N, bytes, SIZE => {
                write_quad::<SIZE>(first, [a0, b0, c0, d0]);
                write_quad::<SIZE>(second, [a1, b1, c1, d1]);
            });
        }
    }

    /// Reads the words of texels of quads side by side, which are two rows of four texels.
    ///
    /// # Safety
    /// Both texels of all rows are readable, and the second quad lies to the right of the first
    /// one.
    #[inline(always)]
    pub unsafe fn read_beside<H: Host, const N: usize>(&self, host: H, bytes: usize) -> [H::Ints; 4] {
        #[cfg(target_arch = "x86_64")]
        if N == 4 {
            let [top, bottom] = self.0[0];
            // SAFETY: the rows have 16 readable bytes (`# Safety`), and the host has level `H`.
            unsafe {
                let (top, bottom) = (_mm_loadu_si128(top.cast()), _mm_loadu_si128(bottom.cast()));
                let words = host.join(_mm_unpacklo_epi64(top, bottom), _mm_unpackhi_epi64(top, bottom));
                return [words, H::Ints::splat(0), H::Ints::splat(0), H::Ints::splat(0)];
            }
        }
        // SAFETY: all rows are readable, as the `# Safety` section of this function requires.
        unsafe { self.read::<H, N>(host, bytes) }
    }

    /// Writes the words of texels of quads side by side.
    ///
    /// # Safety
    /// Both texels of all rows are writable, and the second quad lies to the right of the first
    /// one.
    #[inline(always)]
    pub unsafe fn write_beside<H: Host, const N: usize>(&self, host: H, bytes: usize, words: [H::Ints; 4]) {
        #[cfg(target_arch = "x86_64")]
        if N == 4 || N == 8 {
            let [top, bottom] = self.0[0];
            // SAFETY: the rows have 16 or 32 writable bytes (`# Safety`), and the host has level
            // `H`.
            unsafe {
                let ([a0, a1], [b0, b1]) = (H::split(words[0]), H::split(words[1]));
                if N == 4 {
                    _mm_storeu_si128(top.cast(), _mm_unpacklo_epi64(a0, a1));
                    _mm_storeu_si128(bottom.cast(), _mm_unpackhi_epi64(a0, a1));
                } else {
                    let upper = host.join(_mm_unpacklo_epi32(a0, b0), _mm_unpacklo_epi32(a1, b1));
                    let lower = host.join(_mm_unpackhi_epi32(a0, b0), _mm_unpackhi_epi32(a1, b1));
                    top.cast::<[u32; 8]>().write_unaligned(upper.to_array());
                    bottom.cast::<[u32; 8]>().write_unaligned(lower.to_array());
                }
            }
            return;
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = host;
        // SAFETY: all rows are writable, as the `# Safety` section of this function requires.
        unsafe { self.write::<H, N>(bytes, words) }
    }

    /// Reads the words of texels of `N` bytes, or of `bytes` bytes if `N` is 0.
    ///
    /// # Safety
    /// Both texels of all rows are readable.
    #[cfg(not(target_arch = "x86_64"))]
    pub unsafe fn read<H: Host, const N: usize>(&self, _: H, bytes: usize) -> [H::Ints; 4] {
        let (bytes, mut words) = (if N == 0 { bytes } else { N }, [[0; 8]; 4]);
        for i in 0..8 {
            let mut texel = [0; MAX_TEXEL_BYTES];
            let p = self.0[i / 4][i / 2 % 2].wrapping_add(i % 2 * bytes);
            // SAFETY: both texels of the row are readable (`# Safety`), and `texel` has 16 bytes.
            unsafe { core::ptr::copy_nonoverlapping(p, texel.as_mut_ptr(), bytes) };
            for w in 0..4 {
                words[w][i] = u32::from_le_bytes([texel[4 * w], texel[4 * w + 1], texel[4 * w + 2], texel[4 * w + 3]]);
            }
        }
        words.map(H::Ints::from_array)
    }

    /// Writes the words of texels of `N` bytes, or of `bytes` bytes if `N` is 0.
    ///
    /// # Safety
    /// Both texels of all rows are writable.
    #[cfg(not(target_arch = "x86_64"))]
    pub unsafe fn write<H: Host, const N: usize>(&self, bytes: usize, words: [H::Ints; 4]) {
        let (bytes, words) = (if N == 0 { bytes } else { N }, words.map(H::Ints::to_array));
        for i in 0..8 {
            let mut texel = [[0; 4]; 4];
            for w in 0..4 {
                texel[w] = words[w][i].to_le_bytes();
            }
            let p = self.0[i / 4][i / 2 % 2].wrapping_add(i % 2 * bytes);
            // SAFETY: both texels of the row are writable (`# Safety`), and
            // `texel` has at least `bytes` bytes.
            unsafe { core::ptr::copy_nonoverlapping(texel.as_flattened().as_ptr(), p, bytes) };
        }
    }

    /// Copies the texels in `coverage` (pixel `p` of quad `k` is bit `16 * k + 4 *
    /// p`) to their places in `copy`, or back if `store` is set.
    ///
    /// # Safety
    /// The texels in `coverage` have `bytes` bytes each and belong to a surface, and no other
    /// thread accesses them.
    #[cold]
    #[inline(never)]
    pub unsafe fn exchange(&self, bytes: usize, coverage: u32, copy: &mut PairTexels, store: bool) {
        for i in (0..8).filter(|i| coverage >> (4 * i) & 1 != 0) {
            let (quad, row, column) = (i / 4, i / 2 % 2, i % 2);
            let there = self.0[quad][row].wrapping_add(column * bytes);
            let here = copy.rows().0[quad][row].wrapping_add(column * bytes);
            let (from, to) = if store { (here, there) } else { (there, here) };
            // SAFETY: the texels in `coverage` are accessible (`# Safety`), and two texels fit a
            // row of the copy.
            unsafe { core::ptr::copy_nonoverlapping(from, to, bytes) };
        }
    }
}

/// Storage for the texels of a pair.
#[derive(Default)]
pub struct PairTexels([[[u8; 2 * MAX_TEXEL_BYTES]; 2]; 2]);

impl PairTexels {
    /// Returns the addresses of the rows.
    #[inline(always)]
    pub fn rows(&mut self) -> PairRows {
        let [[a, b], [c, d]] = &mut self.0;
        PairRows([[a.as_mut_ptr(), b.as_mut_ptr()], [c.as_mut_ptr(), d.as_mut_ptr()]])
    }
}

/// # Safety
/// Two texels of `N` bytes are readable in each row.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn read_quad<const N: usize>([top, bottom]: [*mut u8; 2]) -> [__m128i; 4] {
    // SAFETY: the texels are readable (`# Safety`), and SSE2 is part of x86-64.
    unsafe {
        let zero = _mm_setzero_si128();
        match N {
            1 => {
                let (top, bottom) = (top.cast::<u16>().read_unaligned(), bottom.cast::<u16>().read_unaligned());
                let (top, bottom) = (i32::from(top), i32::from(bottom));
                let shorts = _mm_unpacklo_epi8(_mm_cvtsi32_si128(top | bottom << 16), zero);
                [_mm_unpacklo_epi16(shorts, zero), zero, zero, zero]
            }
            2 => {
                let (top, bottom) = (top.cast::<i32>().read_unaligned(), bottom.cast::<i32>().read_unaligned());
                let both = _mm_unpacklo_epi32(_mm_cvtsi32_si128(top), _mm_cvtsi32_si128(bottom));
                [_mm_unpacklo_epi16(both, zero), zero, zero, zero]
            }
            4 => [_mm_unpacklo_epi64(_mm_loadl_epi64(top.cast()), _mm_loadl_epi64(bottom.cast())), zero, zero, zero],
            8 => {
                let (top, bottom) = (_mm_loadu_ps(top.cast()), _mm_loadu_ps(bottom.cast()));
                let even = _mm_shuffle_ps::<0b10_00_10_00>(top, bottom);
                let odd = _mm_shuffle_ps::<0b11_01_11_01>(top, bottom);
                [_mm_castps_si128(even), _mm_castps_si128(odd), zero, zero]
            }
            12 => {
                let last = |p: *mut u8| _mm_cvtsi32_si128(p.wrapping_add(8).cast::<i32>().read_unaligned());
                let texel = |p: *mut u8| _mm_unpacklo_epi64(_mm_loadl_epi64(p.cast()), last(p));
                transposed([texel(top), texel(top.wrapping_add(12)), texel(bottom), texel(bottom.wrapping_add(12))])
            }
            _ => {
                let (a, b) = (_mm_loadu_si128(top.cast()), _mm_loadu_si128(top.wrapping_add(16).cast()));
                let (c, d) = (_mm_loadu_si128(bottom.cast()), _mm_loadu_si128(bottom.wrapping_add(16).cast()));
                transposed([a, b, c, d])
            }
        }
    }
}

/// # Safety
/// Two texels of `N` bytes are writable in each row.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn write_quad<const N: usize>([top, bottom]: [*mut u8; 2], words: [__m128i; 4]) {
    // SAFETY: the texels are writable (`# Safety`), and SSE2 is part of x86-64.
    unsafe {
        match N {
            1 => {
                let bytes = _mm_and_si128(words[0], _mm_set1_epi32(0xff));
                let shorts = _mm_packs_epi32(bytes, bytes);
                let four = _mm_cvtsi128_si32(_mm_packus_epi16(shorts, shorts));
                top.cast::<u16>().write_unaligned(four as u16);
                bottom.cast::<u16>().write_unaligned((four >> 16) as u16);
            }
            2 => {
                let shorts = _mm_shufflehi_epi16::<0b10_00>(_mm_shufflelo_epi16::<0b10_00>(words[0]));
                top.cast::<i32>().write_unaligned(_mm_cvtsi128_si32(shorts));
                bottom.cast::<i32>().write_unaligned(_mm_cvtsi128_si32(_mm_unpackhi_epi64(shorts, shorts)));
            }
            4 => {
                _mm_storel_epi64(top.cast(), words[0]);
                _mm_storeh_pd(bottom.cast(), _mm_castsi128_pd(words[0]));
            }
            8 => {
                _mm_storeu_si128(top.cast(), _mm_unpacklo_epi32(words[0], words[1]));
                _mm_storeu_si128(bottom.cast(), _mm_unpackhi_epi32(words[0], words[1]));
            }
            12 => {
                let [a, b, c, d] = transposed(words);
                for (p, texel) in [(top, a), (top.wrapping_add(12), b), (bottom, c), (bottom.wrapping_add(12), d)] {
                    _mm_storel_epi64(p.cast(), texel);
                    let last = _mm_cvtsi128_si32(_mm_unpackhi_epi64(texel, texel));
                    p.wrapping_add(8).cast::<i32>().write_unaligned(last);
                }
            }
            _ => {
                let [a, b, c, d] = transposed(words);
                _mm_storeu_si128(top.cast(), a);
                _mm_storeu_si128(top.wrapping_add(16).cast(), b);
                _mm_storeu_si128(bottom.cast(), c);
                _mm_storeu_si128(bottom.wrapping_add(16).cast(), d);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn transposed([a, b, c, d]: [__m128i; 4]) -> [__m128i; 4] {
    // SAFETY: SSE2 is part of x86-64.
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
