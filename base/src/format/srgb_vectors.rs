//! The transfer functions of [`srgb`](super::srgb) for sixteen texels in vectors of 512 bits, with
//! the same bits.
//!
//! A table of 256 floats is four tables of 256 bytes, from which permutations of bytes read 64
//! entries at once: three components of sixteen texels. Encoding estimates a code by a parabola and
//! looks up where the next one begins.

use super::UNORM8;
use super::srgb::{DECODE_BYTES, DecodeBytes, ESTIMATE, SEGMENTS, THRESHOLD_BYTES};
use core::arch::x86_64::*;

/// Returns each byte's entry.
///
/// # Safety
/// The host has the 512-bit level ([`Host::HAS_512`](crate::host::Host::HAS_512)).
#[inline(always)]
unsafe fn lookup(at: __m512i, table: &[u8; 256]) -> __m512i {
    let quarters = table.as_ptr().cast::<__m512i>();
    // SAFETY: the host has the 512-bit level (`# Safety`), and the table has four vectors.
    unsafe {
        let low = _mm512_permutex2var_epi8(_mm512_loadu_si512(quarters), at, _mm512_loadu_si512(quarters.add(1)));
        let high =
            _mm512_permutex2var_epi8(_mm512_loadu_si512(quarters.add(2)), at, _mm512_loadu_si512(quarters.add(3)));
        _mm512_mask_blend_epi8(_mm512_movepi8_mask(at), low, high)
    }
}

/// Returns the floats of a table for three components, whose bytes are grouped by four texels:
/// those of the first component, of the second one, and so on.
///
/// # Safety
/// The host has the 512-bit level.
#[inline(always)]
unsafe fn entries(at: __m512i, table: &DecodeBytes) -> [__m512; 3] {
    // SAFETY: the host has the 512-bit level (`# Safety`).
    unsafe {
        let [a, b, c, d] = &table.0;
        let (a, b, c, d) = (lookup(at, a), lookup(at, b), lookup(at, c), lookup(at, d));
        let (low, high) = (_mm512_unpacklo_epi8(a, b), _mm512_unpacklo_epi8(c, d));
        let third = _mm512_unpacklo_epi16(_mm512_unpackhi_epi8(a, b), _mm512_unpackhi_epi8(c, d));
        [
            _mm512_castsi512_ps(_mm512_unpacklo_epi16(low, high)),
            _mm512_castsi512_ps(_mm512_unpackhi_epi16(low, high)),
            _mm512_castsi512_ps(third),
        ]
    }
}

/// Converts the bytes of four texels to those of their components, and the other way round.
///
/// # Safety
/// The host has the 512-bit level.
#[inline(always)]
unsafe fn turned(bytes: __m512i) -> __m512i {
    // SAFETY: the host has the 512-bit level (`# Safety`).
    unsafe {
        let order = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
        _mm512_shuffle_epi8(bytes, _mm512_broadcast_i32x4(order))
    }
}

/// Decodes three sRGB bytes and an unsigned normalised one, the first being the lowest of each
/// word.
///
/// # Safety
/// The host has the 512-bit level.
#[inline(always)]
pub unsafe fn decode(texels: __m512i) -> [__m512; 4] {
    // SAFETY: the host has the 512-bit level (`# Safety`).
    unsafe {
        let [first, second, third] = entries(turned(texels), &DECODE_BYTES);
        let alpha = _mm512_cvtepi32_ps(_mm512_srli_epi32::<24>(texels));
        // The first product is exact.
        let rest = _mm512_mul_ps(alpha, _mm512_set1_ps(UNORM8[1]));
        [first, second, third, _mm512_fmadd_ps(alpha, _mm512_set1_ps(UNORM8[0]), rest)]
    }
}

/// Returns the texels from which [`decode`] makes the nearest values; alpha rounds to even, and
/// not-a-number becomes 0.
///
/// # Safety
/// The host has the 512-bit level.
#[inline(always)]
pub unsafe fn encode([first, second, third, alpha]: [__m512; 4]) -> __m512i {
    // SAFETY: the host has the 512-bit level (`# Safety`).
    unsafe {
        let [(x, i), (y, j), (z, k)] = [near(first), near(second), near(third)];
        let alpha = _mm512_min_ps(_mm512_max_ps(alpha, _mm512_setzero_ps()), _mm512_set1_ps(1.0));
        let alpha = _mm512_cvtps_epi32(_mm512_mul_ps(alpha, _mm512_set1_ps(255.0)));
        let fourth = _mm512_packs_epi32(k, alpha);
        let [u, v, w] = entries(_mm512_packus_epi16(_mm512_packs_epi32(i, j), fourth), &THRESHOLD_BYTES);
        let (i, j, k) = (next(i, x, u), next(j, y, v), next(k, z, w));
        let bytes = _mm512_packus_epi16(_mm512_packs_epi32(i, j), _mm512_packs_epi32(k, alpha));
        turned(bytes)
    }
}

/// Returns a component clamped to the range in which codes have borders, and its code or the one
/// before.
///
/// # Safety
/// The host has the 512-bit level.
#[inline(always)]
unsafe fn near(of: __m512) -> (__m512, __m512i) {
    let (first, shift) = SEGMENTS;
    // SAFETY: the host has the 512-bit level (`# Safety`), and each row has two vectors.
    unsafe {
        // The maximum of a NaN and another number is the second operand.
        let x = _mm512_max_ps(of, _mm512_set1_ps(f32::from_bits(first)));
        let x = _mm512_min_ps(x, _mm512_set1_ps(1f32.next_down()));
        let segment = _mm512_sub_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(first as i32));
        let segment = _mm512_srl_epi32(segment, _mm_cvtsi32_si128(shift as i32));
        let [constant, slope, square] = &ESTIMATE;
        let estimate = _mm512_fmadd_ps(entry(square, segment), x, entry(slope, segment));
        let estimate = _mm512_fmadd_ps(estimate, x, entry(constant, segment));
        (x, _mm512_cvtps_epi32(estimate))
    }
}

/// Returns each lane's entry.
///
/// # Safety
/// The host has the 512-bit level.
#[inline(always)]
unsafe fn entry(row: &[f32; 32], at: __m512i) -> __m512 {
    let halves = row.as_ptr();
    // SAFETY: the host has the 512-bit level (`# Safety`), and the row has two vectors.
    unsafe { _mm512_permutex2var_ps(_mm512_loadu_ps(halves), at, _mm512_loadu_ps(halves.add(16))) }
}

/// Returns the next code where a component has reached its threshold.
///
/// # Safety
/// The host has the 512-bit level.
#[inline(always)]
unsafe fn next(code: __m512i, component: __m512, threshold: __m512) -> __m512i {
    // SAFETY: the host has the 512-bit level (`# Safety`).
    unsafe {
        let reached = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(component, threshold);
        _mm512_mask_add_epi32(code, reached, code, _mm512_set1_epi32(1))
    }
}

#[cfg(test)]
mod tests {
    use super::super::srgb::{THRESHOLD, linear_to_srgb, srgb_to_linear};
    use crate::host::{Host, SimdLevel};

    crate::multiversion! {
        for Avx512 unsafe fn both(from: &[[f32; 16]; 4], texels: &mut [u32; 16], to: &mut [[f32; 16]; 4]) {
            if H::HAS_512 {
                use core::arch::x86_64::*;
                let rows = [0, 1, 2, 3].map(|c| from[c].as_ptr());
                let rows = [_mm512_loadu_ps(rows[0]), _mm512_loadu_ps(rows[1]), _mm512_loadu_ps(rows[2]), _mm512_loadu_ps(rows[3])];
                let encoded = super::encode(rows);
                _mm512_storeu_si512(texels.as_mut_ptr().cast(), encoded);
                let [a, b, c, d] = super::decode(encoded);
                _mm512_storeu_ps(to[0].as_mut_ptr(), a);
                _mm512_storeu_ps(to[1].as_mut_ptr(), b);
                _mm512_storeu_ps(to[2].as_mut_ptr(), c);
                _mm512_storeu_ps(to[3].as_mut_ptr(), d);
            }
        }
    }

    /// Compares encoding and decoding of colours (each in all components of a lane) with
    /// conversions one by one.
    fn check(colors: &[f32; 16]) {
        let (mut texels, mut back) = ([0; 16], [[0.0; 16]; 4]);
        // SAFETY: the level is the host's own.
        unsafe { both(SimdLevel::detect())(&[*colors; 4], &mut texels, &mut back) };
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
        if !SimdLevel::detect().has_512() {
            return;
        }
        // Values are around all borders of codes and of the parabolas, outside of the range, and in
        // between.
        let codes = THRESHOLD.iter().map(|t| t.to_bits().min(2f32.to_bits()));
        let halves = (0..40).map(|i| super::SEGMENTS.0 - (4 << super::SEGMENTS.1) + (i << super::SEGMENTS.1));
        for bits in codes.chain(halves) {
            check(&std::array::from_fn(|i| f32::from_bits(bits + i as u32 - 8)));
        }
        let odd = [0.0, -0.0, -1.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e-40, 7.0];
        check(&std::array::from_fn(|i| odd[i % odd.len()]));
        for bits in (1e-5f32.to_bits()..1.1f32.to_bits()).step_by(16 * 97) {
            check(&std::array::from_fn(|i| f32::from_bits(bits + 97 * i as u32)));
        }
    }
}
