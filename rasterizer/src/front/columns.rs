//! Words of elements from memory, a row of eight elements for each word.
//!
//! Left to itself the compiler gathers each row, where vectors have 512 bits: a gather takes as long as all loads of one do here.

use crate::prim::transposed;

/// The words of eight elements of `N` words (up to four), at any addresses.
///
/// # Safety
/// `N` words are readable at each address.
#[inline(always)]
pub unsafe fn of_eight<const N: usize>(at: [*const u8; 8]) -> [[u32; 8]; 4] {
    // SAFETY: the caller's contract.
    let [a, b, c, d, e, f, g, h] = at.map(|at| unsafe { element::<N>(at) });
    let (low, high) = (transposed([a, b, c, d]), transposed([e, f, g, h]));
    core::array::from_fn(|word| {
        let ([a, b, c, d], [e, f, g, h]) = (low[word], high[word]);
        [a, b, c, d, e, f, g, h]
    })
}

/// An element's words, and nothing behind them.
///
/// # Safety
/// As of [`of_eight`].
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn element<const N: usize>(at: *const u8) -> [u32; 4] {
    use core::arch::x86_64::*;
    // SAFETY: the caller's contract; every processor of the architecture has these instructions, and vectors have the bits of words.
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

/// An element's words.
///
/// # Safety
/// As of [`of_eight`].
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
unsafe fn element<const N: usize>(at: *const u8) -> [u32; 4] {
    let mut words = [0; 4];
    // SAFETY: the caller's contract.
    words[..N].copy_from_slice(&unsafe { at.cast::<[u32; N]>().read_unaligned() });
    words
}
