//! Two pairs of whole quads of texels of four bytes in memory, as one vector of 512 bits: four quads, each of two rows of two texels.

use super::bytes;
use base::pixel::BlendEquations;
use core::arch::x86_64::*;

/// Quads as rows of two quads, and back.
///
/// # Safety
/// The host is wide.
#[inline(always)]
unsafe fn turned(texels: __m512i) -> __m512i {
    // SAFETY: the caller's promise.
    unsafe { _mm512_permutex_epi64::<0b11_01_10_00>(texels) }
}

/// # Safety
/// The host is wide; the texels of the pairs that begin at `first` and at `second` are readable.
#[inline(always)]
unsafe fn rows([first, second]: [*mut u8; 2], pitch: usize) -> __m512i {
    // SAFETY: the caller's promise: rows of four texels.
    unsafe {
        let rows = _mm512_castsi128_si512(_mm_loadu_si128(first.cast()));
        let rows = _mm512_inserti32x4::<1>(rows, _mm_loadu_si128(first.wrapping_add(pitch).cast()));
        let rows = _mm512_inserti32x4::<2>(rows, _mm_loadu_si128(second.cast()));
        _mm512_inserti32x4::<3>(rows, _mm_loadu_si128(second.wrapping_add(pitch).cast()))
    }
}

/// # Safety
/// As for [`store`].
#[inline(always)]
unsafe fn store_rows([first, second]: [*mut u8; 2], pitch: usize, rows: __m512i) {
    // SAFETY: the caller's promise: rows of four texels.
    unsafe {
        _mm_storeu_si128(first.cast(), _mm512_castsi512_si128(rows));
        _mm_storeu_si128(first.wrapping_add(pitch).cast(), _mm512_extracti32x4_epi32::<1>(rows));
        _mm_storeu_si128(second.cast(), _mm512_extracti32x4_epi32::<2>(rows));
        _mm_storeu_si128(second.wrapping_add(pitch).cast(), _mm512_extracti32x4_epi32::<3>(rows));
    }
}

/// Writes the texels of four quads to the pairs that begin at `at`.
///
/// # Safety
/// The host is wide; the texels of the pairs are writable.
#[inline(always)]
pub unsafe fn store(at: [*mut u8; 2], pitch: usize, quads: __m512i) {
    // SAFETY: the caller's promise.
    unsafe { store_rows(at, pitch, turned(quads)) }
}

/// Blends the texels of four quads with those of the pairs that begin at `at`, which have no texel in common. Without a second source and constants; bits
/// that are not in `mask` stay.
///
/// # Safety
/// As for [`store`]; the texels are readable too.
#[inline(always)]
pub unsafe fn blend(at: [*mut u8; 2], pitch: usize, equations: &BlendEquations, quads: __m512i, mask: u32) {
    // SAFETY: the caller's promise.
    unsafe {
        let (old, none) = (rows(at, pitch), _mm512_setzero_si512());
        let new = bytes::blended(equations, [turned(quads), old, none, none]);
        // Old and new by the mask's bits.
        let merged = _mm512_ternarylogic_epi32::<0xd8>(old, new, _mm512_set1_epi32(mask as i32));
        store_rows(at, pitch, merged);
    }
}
