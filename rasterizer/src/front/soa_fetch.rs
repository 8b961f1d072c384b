//! SoA vertex fetch: words of elements from memory, as a row of eight elements for each word.
//!
//! On hosts with 512-bit vectors, the compiler would gather each row by itself. One such gather
//! takes as long as all loads of a row here.

use crate::prim::transposed;

/// Returns the words of eight elements of `N` words (up to four), at any addresses.
///
/// # Safety
/// `N` words are readable at each address.
#[inline(always)]
pub unsafe fn fetch_transposed<const N: usize>(at: [*const u8; 8]) -> [[u32; 8]; 4] {
    // SAFETY: `N` words are readable at each address (`# Safety`).
    let [a, b, c, d, e, f, g, h] = at.map(|at| unsafe { element::<N>(at) });
    let (low, high) = (transposed([a, b, c, d]), transposed([e, f, g, h]));
    core::array::from_fn(|word| {
        let ([a, b, c, d], [e, f, g, h]) = (low[word], high[word]);
        [a, b, c, d, e, f, g, h]
    })
}

/// Reads an element's words, and nothing after them.
///
/// # Safety
/// `N` words are readable at `at`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn element<const N: usize>(at: *const u8) -> [u32; 4] {
    use core::arch::x86_64::*;
    // SAFETY: `N` words are readable (`# Safety`), SSE2 is part of x86-64, and any bits are valid
    // words.
    unsafe {
        let word = |i: usize| _mm_cvtsi32_si128(at.cast::<i32>().add(i).read_unaligned());
        core::mem::transmute::<__m128i, [u32; 4]>(match N {
            1 => word(0),
            2 => _mm_loadl_epi64(at.cast()),
            3 => _mm_unpacklo_epi64(_mm_loadl_epi64(at.cast()), word(2)),
            _ => _mm_loadu_si128(at.cast()),
        })
    }
}

/// Reads an element's words.
///
/// # Safety
/// `N` words are readable at `at`.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
unsafe fn element<const N: usize>(at: *const u8) -> [u32; 4] {
    let mut words = [0; 4];
    // SAFETY: `N` words are readable (`# Safety`).
    words[..N].copy_from_slice(&unsafe { at.cast::<[u32; N]>().read_unaligned() });
    words
}
