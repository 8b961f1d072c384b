//! Conversions of texels to words and back, by rows, compiled for each processor level
//! ([`base::multiversion!`]).
//!
//! A row is unpacked to words, with the components of a texel side by side. An operation on all
//! components alike is therefore one loop over words, whatever the format. A texel has 1, 2 or 4
//! words: as many as its format has components if both sides of a transfer have the same number,
//! else four. The arithmetic is that of `base::format`, operation by operation, so that all levels
//! give the same bits.

#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use base::abi::MAX_LANES;
use base::format::float::{f32_to_half, half_to_f32};
use base::format::lanes::to_half;
use base::format::pack::LaneKernels;
use base::format::srgb::{linear_to_srgb, srgb_to_linear};
use base::format::{Lanes, Texel, TexelKernels};
use base::host::{Host, Ints, SimdLevel};
use base::round;
#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::*;

/// Conversions of rows of texels, which every host does at its best level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowConversion {
    /// 8-bit unsigned normalised components.
    Unorm8,
    /// Three 8-bit sRGB components and alpha.
    Srgb,
    /// Halves.
    Half,
    /// Words, which are copied unchanged.
    Words,
}

impl RowConversion {
    /// Unpacks a row; `bytes` has as many components as `out`.
    pub fn unpack(self, bytes: &[u8], out: &mut [u32]) {
        // SAFETY: `SimdLevel::detect` is a level of the host.
        unsafe {
            match self {
                RowConversion::Unorm8 => unpack_unorm8(SimdLevel::detect())(bytes, out),
                RowConversion::Srgb => unpack_srgb(SimdLevel::detect())(bytes, out),
                RowConversion::Half => unpack_half(SimdLevel::detect())(bytes, out),
                RowConversion::Words => {
                    for (word, bytes) in out.iter_mut().zip(bytes.as_chunks().0) {
                        *word = u32::from_le_bytes(*bytes);
                    }
                }
            }
        }
    }

    /// Packs a row; `bytes` has as many components as `words`.
    pub fn pack(self, words: &[u32], bytes: &mut [u8]) {
        // SAFETY: `SimdLevel::detect` is a level of the host.
        unsafe {
            match self {
                RowConversion::Unorm8 => pack_unorm8(SimdLevel::detect())(words, bytes),
                RowConversion::Srgb => pack_srgb(SimdLevel::detect())(words, bytes),
                RowConversion::Half => pack_half(SimdLevel::detect())(words, bytes),
                RowConversion::Words => {
                    for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
                        *bytes = word.to_le_bytes();
                    }
                }
            }
        }
    }
}

/// Unpacks texels of any format that has kernels.
pub fn unpack(kernels: &TexelKernels, bytes: &[u8], out: &mut [Texel]) {
    let level = SimdLevel::detect();
    let by_lanes = match kernels.bytes {
        1 => unpack_lanes::<1>(level),
        2 => unpack_lanes::<2>(level),
        4 => unpack_lanes::<4>(level),
        8 => unpack_lanes::<8>(level),
        16 => unpack_lanes::<16>(level),
        _ => return (kernels.unpack)(bytes, out),
    };
    let whole = out.len() / MAX_LANES * MAX_LANES;
    // SAFETY: `SimdLevel::detect` is a level of the host, and the kernels are of that level.
    unsafe { by_lanes(kernels.lanes[level as usize], bytes, &mut out[..whole]) };
    (kernels.unpack)(&bytes[whole * kernels.bytes..], &mut out[whole..]);
}

/// Packs texels of any format that has kernels.
pub fn pack(kernels: &TexelKernels, texels: &[Texel], bytes: &mut [u8]) {
    let level = SimdLevel::detect();
    let by_lanes = match kernels.bytes {
        1 => pack_lanes::<1>(level),
        2 => pack_lanes::<2>(level),
        4 => pack_lanes::<4>(level),
        8 => pack_lanes::<8>(level),
        16 => pack_lanes::<16>(level),
        _ => return (kernels.pack)(texels, bytes),
    };
    let whole = texels.len() / MAX_LANES * MAX_LANES;
    // SAFETY: `SimdLevel::detect` is a level of the host, and the kernels are of that level.
    unsafe { by_lanes(kernels.lanes[level as usize], &texels[..whole], &mut bytes[..whole * kernels.bytes]) };
    (kernels.pack)(&texels[whole..], &mut bytes[whole * kernels.bytes..]);
}

/// Exchanges the first and third byte of all words.
pub fn swap_bytes(bytes: &mut [u8]) {
    // SAFETY: `SimdLevel::detect` is a level of the host.
    unsafe { swap(SimdLevel::detect())(bytes) }
}

/// Loads or stores `B` bytes as words, little-endian.
trait ByteWords {
    fn words(&self) -> [u32; 4];
    fn set_words(&mut self, words: [u32; 4]);
}

impl<const B: usize> ByteWords for [u8; B] {
    #[inline(always)]
    fn words(&self) -> [u32; 4] {
        let mut all = [0u8; 16];
        all[..B].copy_from_slice(self);
        let mut words = [0; 4];
        for (word, bytes) in words.iter_mut().zip(all.as_chunks().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        words
    }

    #[inline(always)]
    fn set_words(&mut self, words: [u32; 4]) {
        let mut all = [0u8; 16];
        for (bytes, word) in all.as_chunks_mut().0.iter_mut().zip(words) {
            *bytes = word.to_le_bytes();
        }
        self.copy_from_slice(&all[..B]);
    }
}

/// 1/255 as the sum of two numbers; a code's products with both add up to its value.
pub const UNORM8: [f32; 2] = [257.0 / 65536.0, (1.0f64 / 255.0 - 257.0 / 65536.0) as f32];

/// Returns the value of a code in a byte of a word, 1/255 of `raw · scale`, correctly rounded. This
/// is [`base::format`]'s conversion with steps that a power of two scales exactly.
#[inline(always)]
pub fn unorm8_at(word: u32, byte: u32) -> f32 {
    let [high, low] = UNORM8;
    // In place, the uppermost byte would be negative as an integer.
    let (raw, scale) = if byte == 3 { (word >> 24, 0) } else { (word & 0xff << (8 * byte), byte) };
    let unit = [1.0, 1.0 / 256.0, 1.0 / 65536.0][scale as usize];
    let raw = raw as i32 as f32;
    raw * (high * unit) + raw * (low * unit)
}

/// Returns the code of a value in 0..=1, or of any other value after clamping.
#[inline(always)]
#[allow(clippy::manual_clamp, reason = "max and min turn NaN into a bound; clamp would let it through")]
pub fn code_of(x: f32) -> u8 {
    round::low_bits(x.max(0.0).min(1.0) * 255.0) as u8
}

/// Number of codes that are made at once.
pub const CODES: usize = 32;

/// Computes [`code_of`] of many values.
#[inline(always)]
pub fn codes_of<H: Host>(values: &[f32; CODES], codes: &mut [u8; CODES]) {
    #[cfg(target_arch = "x86_64")]
    if H::LEVEL >= SimdLevel::Avx2 {
        // SAFETY: the host has the level, as this is part of its variant; there are 32 values and
        // 32 bytes.
        unsafe {
            let at = values.as_ptr();
            let low = _mm256_packs_epi32(eight(at), eight(at.add(8)));
            let high = _mm256_packs_epi32(eight(at.add(16)), eight(at.add(24)));
            // Both packings work within 128-bit halves: the result has four bytes each from 0, 8,
            // 16 and 24 on, and from 4, 12, 20 and 28 on.
            let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
            let packed = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order);
            _mm256_storeu_si256(codes.as_mut_ptr().cast(), packed);
        }
        return;
    }
    for (code, &x) in codes.iter_mut().zip(values) {
        *code = code_of(x);
    }
}

/// Computes codes of eight values before their clamping to 0. A NaN passes through the minimum,
/// whose second operand it is, and becomes the smallest integer, as values do that are too small.
///
/// # Safety
/// There are eight values at `at`; the host has AVX2.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn eight(at: *const f32) -> __m256i {
    // SAFETY: there are eight values at `at`, and the host has AVX2, as the `# Safety` section
    // demands.
    unsafe {
        let x = _mm256_min_ps(_mm256_set1_ps(1.0), _mm256_loadu_ps(at));
        _mm256_cvtps_epi32(_mm256_mul_ps(x, _mm256_set1_ps(255.0)))
    }
}

base::multiversion! {
    /// Unpacks 8-bit unsigned normalised components.
    unsafe fn unpack_unorm8(bytes: &[u8], out: &mut [u32]) {
        for (word, &byte) in out.iter_mut().zip(bytes) {
            *word = unorm8_at(u32::from(byte), 0).to_bits();
        }
    }

    /// Packs components as 8-bit unsigned normalised ones.
    unsafe fn pack_unorm8(words: &[u32], bytes: &mut [u8]) {
        let (chunks, rest) = bytes.as_chunks_mut::<CODES>();
        let (word_chunks, word_rest) = words.as_chunks::<CODES>();
        for (codes, words) in chunks.iter_mut().zip(word_chunks) {
            let mut values = [0.0; CODES];
            for i in 0..CODES {
                values[i] = f32::from_bits(words[i]);
            }
            codes_of::<H>(&values, codes);
        }
        for (byte, &word) in rest.iter_mut().zip(word_rest) {
            *byte = code_of(f32::from_bits(word));
        }
    }

    /// Unpacks three sRGB components and alpha.
    unsafe fn unpack_srgb(bytes: &[u8], out: &mut [u32]) {
        for (texel, &[r, g, b, a]) in out.as_chunks_mut::<4>().0.iter_mut().zip(bytes.as_chunks::<4>().0) {
            let alpha = unorm8_at(u32::from(a), 0);
            *texel = [srgb_to_linear(r).to_bits(), srgb_to_linear(g).to_bits(), srgb_to_linear(b).to_bits(), alpha.to_bits()];
        }
    }

    /// Packs three sRGB components and alpha.
    unsafe fn pack_srgb(words: &[u32], bytes: &mut [u8]) {
        for (bytes, &[r, g, b, a]) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(words.as_chunks::<4>().0) {
            let (r, g) = (linear_to_srgb(f32::from_bits(r)), linear_to_srgb(f32::from_bits(g)));
            *bytes = [r, g, linear_to_srgb(f32::from_bits(b)), code_of(f32::from_bits(a))];
        }
    }

    /// Unpacks halves.
    unsafe fn unpack_half(bytes: &[u8], out: &mut [u32]) {
        let (chunks, rest) = out.as_chunks_mut::<MAX_LANES>();
        let (half_chunks, half_rest) = bytes.as_chunks::<2>().0.as_chunks::<MAX_LANES>();
        for (out, bytes) in chunks.iter_mut().zip(half_chunks) {
            let mut halves = [0; MAX_LANES];
            for (half, bytes) in halves.iter_mut().zip(bytes) {
                *half = u32::from(u16::from_le_bytes(*bytes));
            }
            *out = <H as Host>::Ints::from_array(halves).half_to_f32().to_array();
        }
        for (out, half) in rest.iter_mut().zip(half_rest) {
            *out = half_to_f32(u32::from(u16::from_le_bytes(*half))).to_bits();
        }
    }

    /// Packs components as halves.
    unsafe fn pack_half(words: &[u32], bytes: &mut [u8]) {
        let (chunks, rest) = words.as_chunks::<MAX_LANES>();
        let (half_chunks, half_rest) = bytes.as_chunks_mut::<2>().0.as_chunks_mut::<MAX_LANES>();
        for (bytes, words) in half_chunks.iter_mut().zip(chunks) {
            let halves = to_half(<H as Host>::Ints::from_array(*words)).to_array();
            for (bytes, half) in bytes.iter_mut().zip(halves) {
                *bytes = (half as u16).to_le_bytes();
            }
        }
        for (half, &word) in half_rest.iter_mut().zip(rest) {
            *half = (f32_to_half(f32::from_bits(word)) as u16).to_le_bytes();
        }
    }

    /// Unpacks texels of `B` bytes of any format with kernels; leaves the end of a row whose length
    /// is not a multiple of the number of lanes.
    ///
    /// The kernels must be of a level that the host has.
    unsafe fn unpack_lanes [const B: usize] [B] (kernels: LaneKernels, bytes: &[u8], out: &mut [Texel]) {
        let blocks = bytes.as_chunks::<B>().0.as_chunks::<MAX_LANES>().0;
        for (blocks, out) in blocks.iter().zip(out.as_chunks_mut::<MAX_LANES>().0) {
            let (mut words, mut texels): (Lanes, Lanes) = ([[0; MAX_LANES]; 4], [[0; MAX_LANES]; 4]);
            for (i, block) in blocks.iter().enumerate() {
                for (w, word) in block.words().into_iter().enumerate() {
                    words[w][i] = word;
                }
            }
            (kernels.unpack)(&words, &mut texels);
            for (i, out) in out.iter_mut().enumerate() {
                for (c, out) in out.iter_mut().enumerate() {
                    *out = texels[c][i];
                }
            }
        }
    }

    /// Packs texels of `B` bytes as [`unpack_lanes`] unpacks them.
    unsafe fn pack_lanes [const B: usize] [B] (kernels: LaneKernels, texels: &[Texel], bytes: &mut [u8]) {
        let blocks = bytes.as_chunks_mut::<B>().0.as_chunks_mut::<MAX_LANES>().0;
        for (blocks, texels) in blocks.iter_mut().zip(texels.as_chunks::<MAX_LANES>().0) {
            let (mut words, mut lanes): (Lanes, Lanes) = ([[0; MAX_LANES]; 4], [[0; MAX_LANES]; 4]);
            for (i, texel) in texels.iter().enumerate() {
                for (c, &component) in texel.iter().enumerate() {
                    lanes[c][i] = component;
                }
            }
            (kernels.pack)(&lanes, &mut words);
            for (i, block) in blocks.iter_mut().enumerate() {
                block.set_words([words[0][i], words[1][i], words[2][i], words[3][i]]);
            }
        }
    }

    /// Exchanges the first and third byte of all words.
    unsafe fn swap(bytes: &mut [u8]) {
        for bytes in bytes.as_chunks_mut::<4>().0 {
            let word = u32::from_le_bytes(*bytes);
            *bytes = (word & 0xff00_ff00 | word >> 16 & 0xff | (word & 0xff) << 16).to_le_bytes();
        }
    }
}
