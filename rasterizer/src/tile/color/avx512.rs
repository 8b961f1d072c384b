//! Four quads of texels of four bytes as one vector of 512 bits. In memory they are two whole
//! pairs, or four quads anywhere, covered or not.

use super::unorm8_blend;
use base::abi::FragmentQuad;
use base::pixel::BlendEquations;
use core::arch::x86_64::*;

/// Converts quads to rows of two quads, and back.
///
/// # Safety
/// The host has the 512-bit level.
#[inline(always)]
unsafe fn turned(texels: __m512i) -> __m512i {
    // SAFETY: the host has the 512-bit level (`# Safety`).
    unsafe { _mm512_permutex_epi64::<0b11_01_10_00>(texels) }
}

/// # Safety
/// The host has the 512-bit level; the texels of the pairs that begin at `first` and at `second`
/// are readable.
#[inline(always)]
unsafe fn rows([first, second]: [*mut u8; 2], pitch: usize) -> __m512i {
    // SAFETY: the pairs are readable (`# Safety`), and their rows have four texels.
    unsafe {
        let rows = _mm512_castsi128_si512(_mm_loadu_si128(first.cast()));
        let rows = _mm512_inserti32x4::<1>(rows, _mm_loadu_si128(first.wrapping_add(pitch).cast()));
        let rows = _mm512_inserti32x4::<2>(rows, _mm_loadu_si128(second.cast()));
        _mm512_inserti32x4::<3>(rows, _mm_loadu_si128(second.wrapping_add(pitch).cast()))
    }
}

/// # Safety
/// The host has the 512-bit level; the texels of the pairs that begin at `first` and at `second`
/// are writable.
#[inline(always)]
unsafe fn store_rows([first, second]: [*mut u8; 2], pitch: usize, rows: __m512i) {
    // SAFETY: the pairs are writable (`# Safety`), and their rows have four texels.
    unsafe {
        _mm_storeu_si128(first.cast(), _mm512_castsi512_si128(rows));
        _mm_storeu_si128(first.wrapping_add(pitch).cast(), _mm512_extracti32x4_epi32::<1>(rows));
        _mm_storeu_si128(second.cast(), _mm512_extracti32x4_epi32::<2>(rows));
        _mm_storeu_si128(second.wrapping_add(pitch).cast(), _mm512_extracti32x4_epi32::<3>(rows));
    }
}

/// Returns the lanes of four quads' covered pixels, with one sample each; `None` if two of the
/// quads are the same pixels.
///
/// # Safety
/// The host has the 512-bit level.
#[inline(always)]
pub unsafe fn covered(quads: &[FragmentQuad; 4]) -> Option<__mmask16> {
    use core::mem::offset_of;
    const { assert!(size_of::<FragmentQuad>() == 16 && offset_of!(FragmentQuad, x) == 0) };
    const { assert!(offset_of!(FragmentQuad, y) == 2 && offset_of!(FragmentQuad, coverage) == 4) };
    // SAFETY: the host has the 512-bit level (`# Safety`), and a quad has 16 bytes.
    unsafe {
        let quads = _mm512_loadu_si512(quads.as_ptr().cast());
        // Each quad's position is broadcast to all of its lanes, and compared with the positions of
        // the next quad and the one after it.
        let places = _mm512_shuffle_epi32::<0>(quads);
        let next = _mm512_shuffle_i32x4::<0b00_11_10_01>(places, places);
        let second = _mm512_shuffle_i32x4::<0b01_00_11_10>(places, places);
        let same = _mm512_cmpeq_epi32_mask(places, next) | _mm512_cmpeq_epi32_mask(places, second);
        let bits = _mm512_broadcast_i32x4(_mm_setr_epi32(1, 1 << 4, 1 << 8, 1 << 12));
        let covered = _mm512_test_epi32_mask(_mm512_shuffle_epi32::<0b01_01_01_01>(quads), bits);
        (same == 0).then_some(covered)
    }
}

/// # Safety
/// The texels of the quad at `at` are readable.
#[inline(always)]
unsafe fn quad(at: *mut u8, pitch: usize) -> __m128i {
    // SAFETY: the quad is readable (`# Safety`), and its rows have two texels.
    unsafe {
        let (first, second) = (at.cast::<i64>(), at.wrapping_add(pitch).cast::<i64>());
        _mm_set_epi64x(second.read_unaligned(), first.read_unaligned())
    }
}

/// # Safety
/// The texels of the quad at `at` are writable.
#[inline(always)]
unsafe fn store_quad(at: *mut u8, pitch: usize, texels: __m128i) {
    // SAFETY: the quad is writable (`# Safety`), and its rows have two texels.
    unsafe {
        at.cast::<i64>().write_unaligned(_mm_cvtsi128_si64(texels));
        at.wrapping_add(pitch).cast::<i64>().write_unaligned(_mm_extract_epi64::<1>(texels));
    }
}

/// Loads the texels of four quads.
///
/// # Safety
/// The host has the 512-bit level; the texels of the quads are readable.
#[inline(always)]
pub unsafe fn quads(at: [*mut u8; 4], pitch: usize) -> __m512i {
    // SAFETY: the host has the 512-bit level and the quads are readable (`# Safety`).
    unsafe {
        let four = _mm512_castsi128_si512(quad(at[0], pitch));
        let four = _mm512_inserti32x4::<1>(four, quad(at[1], pitch));
        let four = _mm512_inserti32x4::<2>(four, quad(at[2], pitch));
        _mm512_inserti32x4::<3>(four, quad(at[3], pitch))
    }
}

/// # Safety
/// The host has the 512-bit level; the texels of the quads are writable.
#[inline(always)]
unsafe fn store_quads(at: [*mut u8; 4], pitch: usize, texels: __m512i) {
    // SAFETY: the host has the 512-bit level and the quads are writable (`# Safety`).
    unsafe {
        store_quad(at[0], pitch, _mm512_castsi512_si128(texels));
        store_quad(at[1], pitch, _mm512_extracti32x4_epi32::<1>(texels));
        store_quad(at[2], pitch, _mm512_extracti32x4_epi32::<2>(texels));
        store_quad(at[3], pitch, _mm512_extracti32x4_epi32::<3>(texels));
    }
}

/// Writes the covered texels of four quads, no two of which are the same pixels; writes the other
/// texels back unchanged.
///
/// # Safety
/// The host has the 512-bit level; all texels of the quads that begin at `at` are readable and
/// writable.
#[inline(always)]
pub unsafe fn store_covered(at: [*mut u8; 4], pitch: usize, texels: __m512i, covered: __mmask16) {
    // SAFETY: the host has the 512-bit level and all texels of the quads are accessible
    // (`# Safety`).
    unsafe { store_quads(at, pitch, _mm512_mask_mov_epi32(quads(at, pitch), covered, texels)) }
}

/// Blends the covered texels of four quads, without a second source and constants. Bits that are
/// not in `mask` stay.
///
/// # Safety
/// The host has the 512-bit level; all texels of the quads that begin at `at` are readable and
/// writable.
#[inline(always)]
pub unsafe fn blend_covered(
    at: [*mut u8; 4],
    pitch: usize,
    equations: &BlendEquations,
    (texels, covered): (__m512i, __mmask16),
    mask: u32,
) {
    // SAFETY: the host has the 512-bit level and all texels of the quads are accessible
    // (`# Safety`).
    unsafe {
        let (old, none) = (quads(at, pitch), _mm512_setzero_si512());
        let new = unorm8_blend::blended(equations, [texels, old, none, none]);
        // The mask's bits choose between old and new bits where there is coverage.
        let mask = _mm512_maskz_set1_epi32(covered, mask as i32);
        store_quads(at, pitch, _mm512_ternarylogic_epi32::<0xd8>(old, new, mask));
    }
}

/// Writes the texels of four quads to the pairs that begin at `at`.
///
/// # Safety
/// The host has the 512-bit level; the texels of the pairs are writable.
#[inline(always)]
pub unsafe fn store(at: [*mut u8; 2], pitch: usize, quads: __m512i) {
    // SAFETY: the host has the 512-bit level and the pairs are writable (`# Safety`).
    unsafe { store_rows(at, pitch, turned(quads)) }
}

/// Blends the texels of four quads with those of the pairs that begin at `at`, which have no texel
/// in common. There is no second source and no constants. Bits that are not in `mask` stay.
///
/// # Safety
/// The host has the 512-bit level; the texels of the pairs are readable and writable.
#[inline(always)]
pub unsafe fn blend(at: [*mut u8; 2], pitch: usize, equations: &BlendEquations, quads: __m512i, mask: u32) {
    // SAFETY: the host has the 512-bit level and the pairs are accessible (`# Safety`).
    unsafe {
        let (old, none) = (rows(at, pitch), _mm512_setzero_si512());
        let new = unorm8_blend::blended(equations, [turned(quads), old, none, none]);
        // The mask's bits choose between old and new bits.
        let merged = _mm512_ternarylogic_epi32::<0xd8>(old, new, _mm512_set1_epi32(mask as i32));
        store_rows(at, pitch, merged);
    }
}

/// Loads the texels of the pairs that begin at `at`, as quads.
///
/// # Safety
/// The host has the 512-bit level; the texels of the pairs are readable.
#[inline(always)]
pub unsafe fn load(at: [*mut u8; 2], pitch: usize) -> __m512i {
    // SAFETY: the host has the 512-bit level and the pairs are readable (`# Safety`).
    unsafe { turned(rows(at, pitch)) }
}

/// Moves the two texels of each quad's rows to their places in two rows of four quads, as elements
/// of 64 bits.
///
/// # Safety
/// The host has the 512-bit level.
#[inline(always)]
unsafe fn in_rows(quads: __m512i) -> __m512i {
    // SAFETY: the host has the 512-bit level (`# Safety`).
    unsafe { _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), quads) }
}

/// Returns the covered pixels, with one sample each, of four quads that lie side by side from left
/// to right: eight of the upper row, then eight of the lower one. Returns `None` if they do not lie
/// side by side.
///
/// # Safety
/// The host has the 512-bit level.
#[inline(always)]
pub unsafe fn row_covered(quads: &[FragmentQuad; 4]) -> Option<__mmask16> {
    // SAFETY: the host has the 512-bit level (`# Safety`); a quad has 16 bytes, which begin with x,
    // y and coverage (see `covered`).
    unsafe {
        let quads = _mm512_loadu_si512(quads.as_ptr().cast());
        let places = _mm512_shuffle_epi32::<0>(quads);
        let steps = _mm512_setr_epi32(0, 0, 0, 0, 2, 2, 2, 2, 4, 4, 4, 4, 6, 6, 6, 6);
        let beside = _mm512_add_epi32(_mm512_broadcastd_epi32(_mm512_castsi512_si128(quads)), steps);
        let coverage = in_rows(_mm512_shuffle_epi32::<0b01_01_01_01>(quads));
        // Upper rows have pixels 0 and 1 of a quad, lower rows have pixels 2 and 3.
        let [upper, lower]: [i64; 2] = [1 << 4 << 32 | 1, 1 << 12 << 32 | 1 << 8];
        let bits = _mm512_setr_epi64(upper, upper, upper, upper, lower, lower, lower, lower);
        let covered = _mm512_test_epi32_mask(coverage, bits);
        (_mm512_cmpneq_epi32_mask(places, beside) == 0).then_some(covered)
    }
}

/// Writes the covered texels ([`row_covered`]) of four quads side by side, the first of which
/// begins at `at`; touches no others.
///
/// # Safety
/// The host has the 512-bit level; the covered texels are writable.
#[inline(always)]
pub unsafe fn store_row(at: *mut u8, pitch: usize, texels: __m512i, covered: __mmask16) {
    // SAFETY: the host has the 512-bit level and the covered texels are writable (`# Safety`).
    unsafe { store_two_rows([at, at.wrapping_add(pitch)], in_rows(texels), covered) }
}

/// Loads the covered texels of four quads side by side, as quads; the other texels are 0.
///
/// # Safety
/// The host has the 512-bit level; the covered texels are readable.
#[inline(always)]
pub unsafe fn load_row(at: *mut u8, pitch: usize, covered: __mmask16) -> __m512i {
    // SAFETY: the host has the 512-bit level and the covered texels are readable (`# Safety`).
    unsafe {
        let above = _mm256_maskz_loadu_epi32(covered as u8, at.cast());
        let below = _mm256_maskz_loadu_epi32((covered >> 8) as u8, at.wrapping_add(pitch).cast());
        let rows = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(above), below);
        _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7), rows)
    }
}

/// # Safety
/// The host has the 512-bit level; the covered texels, in the order of the rows, are writable.
#[inline(always)]
unsafe fn store_two_rows([upper, lower]: [*mut u8; 2], rows: __m512i, covered: __mmask16) {
    // SAFETY: the host has the 512-bit level and the covered texels are writable (`# Safety`).
    unsafe {
        let [above, below] = [_mm512_castsi512_si256(rows), _mm512_extracti64x4_epi64::<1>(rows)];
        if covered == u16::MAX {
            // Subsequent loads may read these texels, and masked stores are not forwarded to loads.
            _mm256_storeu_si256(upper.cast(), above);
            _mm256_storeu_si256(lower.cast(), below);
        } else {
            _mm256_mask_storeu_epi32(upper.cast(), covered as u8, above);
            _mm256_mask_storeu_epi32(lower.cast(), (covered >> 8) as u8, below);
        }
    }
}

/// Blends the covered texels of four quads side by side, without a second source and constants.
/// Bits that are not in `mask` stay.
///
/// # Safety
/// The host has the 512-bit level; the covered texels are readable and writable.
#[inline(always)]
pub unsafe fn blend_row(
    at: *mut u8,
    pitch: usize,
    equations: &BlendEquations,
    (texels, covered): (__m512i, __mmask16),
    mask: u32,
) {
    // SAFETY: the host has the 512-bit level and the covered texels are accessible (`# Safety`).
    unsafe {
        let p = [at, at.wrapping_add(pitch)];
        let above = _mm256_maskz_loadu_epi32(covered as u8, p[0].cast());
        let below = _mm256_maskz_loadu_epi32((covered >> 8) as u8, p[1].cast());
        let old = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(above), below);
        let none = _mm512_setzero_si512();
        let new = unorm8_blend::blended(equations, [in_rows(texels), old, none, none]);
        // The mask's bits choose between old and new bits.
        let merged = _mm512_ternarylogic_epi32::<0xd8>(old, new, _mm512_set1_epi32(mask as i32));
        store_two_rows(p, merged, covered);
    }
}
