//! Four quads of texels of four bytes as one vector of 512 bits. In memory they are two whole
//! pairs, or four quads anywhere, covered or not.

use base::abi::FragmentQuad;
use base::host::Avx512;
use core::arch::x86_64::*;
use core::mem::offset_of;

/// Converts quads to rows of two quads, and back.
#[inline(always)]
fn turned(v: Avx512, texels: __m512i) -> __m512i {
    v._mm512_permutex_epi64::<0b11_01_10_00>(texels)
}

/// Joins four parts to one vector.
#[inline(always)]
fn joined(v: Avx512, [a, b, c, d]: [__m128i; 4]) -> __m512i {
    let four = v._mm512_inserti32x4::<1>(v._mm512_castsi128_si512(a), b);
    v._mm512_inserti32x4::<3>(v._mm512_inserti32x4::<2>(four, c), d)
}

/// Returns the four parts of a vector.
#[inline(always)]
fn parts(v: Avx512, of: __m512i) -> [__m128i; 4] {
    [
        v._mm512_castsi512_si128(of),
        v._mm512_extracti32x4_epi32::<1>(of),
        v._mm512_extracti32x4_epi32::<2>(of),
        v._mm512_extracti32x4_epi32::<3>(of),
    ]
}

/// Loads four quads: x, y and coverage of each, and the address of its primitive.
#[inline(always)]
fn loaded(v: Avx512, quads: &[FragmentQuad; 4]) -> __m512i {
    const { assert!(size_of::<FragmentQuad>() == 16 && offset_of!(FragmentQuad, x) == 0) };
    const { assert!(offset_of!(FragmentQuad, y) == 2 && offset_of!(FragmentQuad, coverage) == 4) };
    // SAFETY: a quad has 16 bytes without padding.
    v.load(unsafe { &*core::ptr::from_ref(quads).cast::<[u32; 16]>() })
}

/// Returns the lanes of four quads' covered pixels, with one sample each; `None` if two of the
/// quads are the same pixels.
#[inline(always)]
pub fn covered(v: Avx512, quads: &[FragmentQuad; 4]) -> Option<__mmask16> {
    let quads = loaded(v, quads);
    // Each quad's position is broadcast to all of its lanes, and compared with the positions of
    // the next quad and the one after it.
    let places = v._mm512_shuffle_epi32::<0>(quads);
    let next = v._mm512_shuffle_i32x4::<0b00_11_10_01>(places, places);
    let second = v._mm512_shuffle_i32x4::<0b01_00_11_10>(places, places);
    let same = v._mm512_cmpeq_epi32_mask(places, next) | v._mm512_cmpeq_epi32_mask(places, second);
    let bits = v._mm512_broadcast_i32x4(v._mm_setr_epi32(1, 1 << 4, 1 << 8, 1 << 12));
    let covered = v._mm512_test_epi32_mask(v._mm512_shuffle_epi32::<0b01_01_01_01>(quads), bits);
    (same == 0).then_some(covered)
}

/// Loads the texels of four quads.
///
/// # Safety
/// The texels of the quads are readable.
#[inline(always)]
pub unsafe fn load_quads(v: Avx512, at: [*mut u8; 4], pitch: usize) -> __m512i {
    let mut quads = [v._mm_setzero_si128(); 4];
    for (quad, at) in quads.iter_mut().zip(at) {
        // SAFETY: the rows of a quad have two texels, which are readable (`# Safety`).
        *quad = unsafe {
            let (first, second) = (at.cast::<i64>(), at.wrapping_add(pitch).cast::<i64>());
            v._mm_set_epi64x(second.read_unaligned(), first.read_unaligned())
        };
    }
    joined(v, quads)
}

/// Stores the texels of four quads.
///
/// # Safety
/// The texels of the quads are writable.
#[inline(always)]
pub unsafe fn store_quads(v: Avx512, at: [*mut u8; 4], pitch: usize, texels: __m512i) {
    for (at, quad) in at.into_iter().zip(parts(v, texels)) {
        // SAFETY: the rows of a quad have two texels, which are writable (`# Safety`).
        unsafe {
            at.cast::<i64>().write_unaligned(v._mm_cvtsi128_si64(quad));
            at.wrapping_add(pitch).cast::<i64>().write_unaligned(v._mm_extract_epi64::<1>(quad));
        }
    }
}

/// Loads the texels of the pairs that begin at `at`, as quads.
///
/// # Safety
/// The texels of the pairs are readable.
#[inline(always)]
pub unsafe fn load_pairs(v: Avx512, [first, second]: [*mut u8; 2], pitch: usize) -> __m512i {
    let mut rows = [v._mm_setzero_si128(); 4];
    let places = [first, first.wrapping_add(pitch), second, second.wrapping_add(pitch)];
    for (row, at) in rows.iter_mut().zip(places) {
        // SAFETY: the pairs are readable (`# Safety`), and their rows have four texels.
        *row = unsafe { _mm_loadu_si128(at.cast()) };
    }
    turned(v, joined(v, rows))
}

/// Writes the texels of four quads to the pairs that begin at `at`.
///
/// # Safety
/// The texels of the pairs are writable.
#[inline(always)]
pub unsafe fn store_pairs(v: Avx512, [first, second]: [*mut u8; 2], pitch: usize, quads: __m512i) {
    let rows = [first, first.wrapping_add(pitch), second, second.wrapping_add(pitch)];
    for (row, texels) in rows.into_iter().zip(parts(v, turned(v, quads))) {
        // SAFETY: the pairs are writable (`# Safety`), and their rows have four texels.
        unsafe { _mm_storeu_si128(row.cast(), texels) };
    }
}

/// Moves the two texels of each quad's rows to their places in two rows of four quads, as elements
/// of 64 bits.
#[inline(always)]
fn in_rows(v: Avx512, quads: __m512i) -> __m512i {
    v._mm512_permutexvar_epi64(v._mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), quads)
}

/// Returns the covered pixels, with one sample each, of four quads that lie side by side from left
/// to right: eight of the upper row, then eight of the lower one. Returns `None` if they do not lie
/// side by side.
#[inline(always)]
pub fn row_covered(v: Avx512, quads: &[FragmentQuad; 4]) -> Option<__mmask16> {
    let quads = loaded(v, quads);
    let places = v._mm512_shuffle_epi32::<0>(quads);
    let steps = v._mm512_setr_epi32(0, 0, 0, 0, 2, 2, 2, 2, 4, 4, 4, 4, 6, 6, 6, 6);
    let beside = v._mm512_add_epi32(v._mm512_broadcastd_epi32(v._mm512_castsi512_si128(quads)), steps);
    let coverage = in_rows(v, v._mm512_shuffle_epi32::<0b01_01_01_01>(quads));
    // Upper rows have pixels 0 and 1 of a quad, lower rows have pixels 2 and 3.
    let [upper, lower]: [i64; 2] = [1 << 4 << 32 | 1, 1 << 12 << 32 | 1 << 8];
    let bits = v._mm512_setr_epi64(upper, upper, upper, upper, lower, lower, lower, lower);
    let covered = v._mm512_test_epi32_mask(coverage, bits);
    (v._mm512_cmpneq_epi32_mask(places, beside) == 0).then_some(covered)
}

/// Loads the covered texels ([`row_covered`]) of four quads side by side, the first of which begins
/// at `at`, as quads; the other texels are 0.
///
/// # Safety
/// The covered texels are readable.
#[inline(always)]
pub unsafe fn load_row(v: Avx512, at: *mut u8, pitch: usize, covered: __mmask16) -> __m512i {
    // SAFETY: the covered texels are readable (`# Safety`), and the host has the instructions
    // because the token exists.
    let [above, below] = unsafe {
        [
            _mm256_maskz_loadu_epi32(covered as u8, at.cast()),
            _mm256_maskz_loadu_epi32((covered >> 8) as u8, at.wrapping_add(pitch).cast()),
        ]
    };
    let rows = v._mm512_inserti64x4::<1>(v._mm512_castsi256_si512(above), below);
    v._mm512_permutexvar_epi64(v._mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7), rows)
}

/// Writes the covered texels ([`row_covered`]) of four quads side by side, the first of which
/// begins at `at`; touches no others.
///
/// # Safety
/// The covered texels are writable.
#[inline(always)]
pub unsafe fn store_row(v: Avx512, upper: *mut u8, pitch: usize, texels: __m512i, covered: __mmask16) {
    let (rows, lower) = (in_rows(v, texels), upper.wrapping_add(pitch));
    let [above, below] = [v._mm512_castsi512_si256(rows), v._mm512_extracti64x4_epi64::<1>(rows)];
    // SAFETY: the covered texels are writable (`# Safety`), and the host has the instructions
    // because the token exists.
    unsafe {
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
