//! The transfer functions of [`srgb`](super::srgb) for sixteen texels in vectors of 512 bits, with
//! the same bits.
//!
//! A table of 256 floats is four tables of 256 bytes, from which permutations of bytes read 64
//! entries at once: three components of sixteen texels. Encoding estimates a code by a parabola and
//! looks up where the next one begins.

#![forbid(unsafe_code)]

use super::UNORM8;
use super::srgb::{DECODE_BYTES, DecodeBytes, ESTIMATE, SEGMENTS, THRESHOLD_BYTES};
use crate::host::Avx512;
use core::arch::x86_64::*;

/// Returns each byte's entry.
#[inline(always)]
fn lookup(v: Avx512, at: __m512i, table: &[u8; 256]) -> __m512i {
    let low = v._mm512_permutex2var_epi8(v.load_part::<0, _>(table), at, v.load_part::<1, _>(table));
    let high = v._mm512_permutex2var_epi8(v.load_part::<2, _>(table), at, v.load_part::<3, _>(table));
    v._mm512_mask_blend_epi8(v._mm512_movepi8_mask(at), low, high)
}

/// Returns the floats of a table for three components, whose bytes are grouped by four texels:
/// those of the first component, of the second one, and so on.
#[inline(always)]
fn entries(v: Avx512, at: __m512i, table: &DecodeBytes) -> [__m512; 3] {
    let [a, b, c, d] = &table.0;
    let (a, b, c, d) = (lookup(v, at, a), lookup(v, at, b), lookup(v, at, c), lookup(v, at, d));
    let (low, high) = (v._mm512_unpacklo_epi8(a, b), v._mm512_unpacklo_epi8(c, d));
    let third = v._mm512_unpacklo_epi16(v._mm512_unpackhi_epi8(a, b), v._mm512_unpackhi_epi8(c, d));
    [
        v._mm512_castsi512_ps(v._mm512_unpacklo_epi16(low, high)),
        v._mm512_castsi512_ps(v._mm512_unpackhi_epi16(low, high)),
        v._mm512_castsi512_ps(third),
    ]
}

/// Converts the bytes of four texels to those of their components, and the other way round.
#[inline(always)]
fn turned(v: Avx512, bytes: __m512i) -> __m512i {
    let order = v._mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    v._mm512_shuffle_epi8(bytes, v._mm512_broadcast_i32x4(order))
}

/// Decodes three sRGB bytes and an unsigned normalised one, the first being the lowest of each
/// word.
#[inline(always)]
pub fn decode(v: Avx512, texels: __m512i) -> [__m512; 4] {
    let [first, second, third] = entries(v, turned(v, texels), &DECODE_BYTES);
    let alpha = v._mm512_cvtepi32_ps(v._mm512_srli_epi32::<24>(texels));
    // The first product is exact.
    let rest = v._mm512_mul_ps(alpha, v._mm512_set1_ps(UNORM8[1]));
    [first, second, third, v._mm512_fmadd_ps(alpha, v._mm512_set1_ps(UNORM8[0]), rest)]
}

/// Returns the texels from which [`decode`] makes the nearest values; alpha rounds to even, and
/// not-a-number becomes 0.
#[inline(always)]
pub fn encode(v: Avx512, [first, second, third, alpha]: [__m512; 4]) -> __m512i {
    let [(x, i), (y, j), (z, k)] = [near(v, first), near(v, second), near(v, third)];
    let alpha = v._mm512_min_ps(v._mm512_max_ps(alpha, v._mm512_setzero_ps()), v._mm512_set1_ps(1.0));
    let alpha = v._mm512_cvtps_epi32(v._mm512_mul_ps(alpha, v._mm512_set1_ps(255.0)));
    let fourth = v._mm512_packs_epi32(k, alpha);
    let [a, b, c] = entries(v, v._mm512_packus_epi16(v._mm512_packs_epi32(i, j), fourth), &THRESHOLD_BYTES);
    let (i, j, k) = (next(v, i, x, a), next(v, j, y, b), next(v, k, z, c));
    let bytes = v._mm512_packus_epi16(v._mm512_packs_epi32(i, j), v._mm512_packs_epi32(k, alpha));
    turned(v, bytes)
}

/// Returns a component clamped to the range in which codes have borders, and its code or the one
/// before.
#[inline(always)]
fn near(v: Avx512, of: __m512) -> (__m512, __m512i) {
    let (first, shift) = SEGMENTS;
    // The maximum of a NaN and another number is the second operand.
    let x = v._mm512_max_ps(of, v._mm512_set1_ps(f32::from_bits(first)));
    let x = v._mm512_min_ps(x, v._mm512_set1_ps(1f32.next_down()));
    let segment = v._mm512_sub_epi32(v._mm512_castps_si512(x), v._mm512_set1_epi32(first as i32));
    let segment = v._mm512_srl_epi32(segment, v._mm_cvtsi32_si128(shift as i32));
    let [constant, slope, square] = &ESTIMATE;
    let estimate = v._mm512_fmadd_ps(entry(v, square, segment), x, entry(v, slope, segment));
    let estimate = v._mm512_fmadd_ps(estimate, x, entry(v, constant, segment));
    (x, v._mm512_cvtps_epi32(estimate))
}

/// Returns each lane's entry.
#[inline(always)]
fn entry(v: Avx512, row: &[f32; 32], at: __m512i) -> __m512 {
    let [low, high] = [v.load_part::<0, _>(row), v.load_part::<1, _>(row)];
    v._mm512_permutex2var_ps(v._mm512_castsi512_ps(low), at, v._mm512_castsi512_ps(high))
}

/// Returns the next code where a component has reached its threshold.
#[inline(always)]
fn next(v: Avx512, code: __m512i, component: __m512, threshold: __m512) -> __m512i {
    let reached = v._mm512_cmp_ps_mask::<_CMP_GE_OQ>(component, threshold);
    v._mm512_mask_add_epi32(code, reached, code, v._mm512_set1_epi32(1))
}

#[cfg(test)]
mod tests {
    use super::super::srgb::{THRESHOLD, linear_to_srgb, srgb_to_linear};
    use crate::host::Avx512;

    fn both(v: Avx512, from: &[[f32; 16]; 4], texels: &mut [u32; 16], to: &mut [[f32; 16]; 4]) {
        let [a, b, c, d] = from;
        let encoded = super::encode(v, [v.load_ps(a), v.load_ps(b), v.load_ps(c), v.load_ps(d)]);
        v.store(texels, encoded);
        for (to, component) in to.iter_mut().zip(super::decode(v, encoded)) {
            v.store_ps(to, component);
        }
    }

    /// Compares encoding and decoding of colours (each in all components of a lane) with
    /// conversions one by one.
    fn check(v: Avx512, colors: &[f32; 16]) {
        let (mut texels, mut back) = ([0; 16], [[0.0; 16]; 4]);
        both(v, &[*colors; 4], &mut texels, &mut back);
        for (lane, &x) in colors.iter().enumerate() {
            let unorm = if x > 0.0 { x.min(1.0) } else { 0.0 };
            let (code, alpha) = (linear_to_srgb(x), (unorm * 255.0).round_ties_even() as u8);
            assert_eq!(texels[lane].to_le_bytes(), [code, code, code, alpha], "{x:e}");
            let linear = srgb_to_linear(code).to_bits();
            let alpha = (f32::from(alpha) / 255.0).to_bits();
            let back = [0, 1, 2, 3].map(|c| back[c][lane].to_bits());
            assert_eq!(back, [linear, linear, linear, alpha], "{x:e}");
        }
    }

    #[test]
    fn sixteen_texels_have_the_bits_of_one() {
        let Some(v) = Avx512::detect() else { return };
        // Values are around all borders of codes and of the parabolas, outside of the range, and in
        // between.
        let codes = THRESHOLD.iter().map(|t| t.to_bits().min(2f32.to_bits()));
        let halves = (0..40).map(|i| super::SEGMENTS.0 - (4 << super::SEGMENTS.1) + (i << super::SEGMENTS.1));
        for bits in codes.chain(halves) {
            check(v, &std::array::from_fn(|i| f32::from_bits(bits + i as u32 - 8)));
        }
        let odd = [0.0, -0.0, -1.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e-40, 7.0];
        check(v, &std::array::from_fn(|i| odd[i % odd.len()]));
        for bits in (1e-5f32.to_bits()..1.1f32.to_bits()).step_by(16 * 97) {
            check(v, &std::array::from_fn(|i| f32::from_bits(bits + 97 * i as u32)));
        }
    }
}
