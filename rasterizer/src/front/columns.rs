//! Words of elements from memory, a row of eight elements for each word.
//!
//! Left to itself the compiler gathers each row, where vectors have 512 bits: a gather takes as long as all loads of one do here.

/// The words of eight elements of `N` words (up to four), at any addresses.
///
/// # Safety
/// `N` words are readable at each address.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub unsafe fn of_eight<const N: usize>(at: [*const u8; 8]) -> [[u32; 8]; 4] {
    let [a, b, c, d, e, f, g, h] = at;
    // SAFETY: the caller's contract.
    let (low, high) = unsafe { (of_four::<N>([a, b, c, d]), of_four::<N>([e, f, g, h])) };
    core::array::from_fn(|word| {
        let ([a, b, c, d], [e, f, g, h]) = (low[word], high[word]);
        [a, b, c, d, e, f, g, h]
    })
}

/// Half of [`of_eight`].
///
/// # Safety
/// As there.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn of_four<const N: usize>(at: [*const u8; 4]) -> [[u32; 4]; 4] {
    use core::arch::x86_64::*;
    // SAFETY: the caller's contract; every processor of the architecture has these instructions, and vectors have the bits of words.
    unsafe {
        let [a, b, c, d] = [element::<N>(at[0]), element::<N>(at[1]), element::<N>(at[2]), element::<N>(at[3])];
        let (ab, cd) = (_mm_unpacklo_epi32(a, b), _mm_unpacklo_epi32(c, d));
        let (ab_high, cd_high) = (_mm_unpackhi_epi32(a, b), _mm_unpackhi_epi32(c, d));
        core::mem::transmute::<[__m128i; 4], [[u32; 4]; 4]>([
            _mm_unpacklo_epi64(ab, cd),
            _mm_unpackhi_epi64(ab, cd),
            _mm_unpacklo_epi64(ab_high, cd_high),
            _mm_unpackhi_epi64(ab_high, cd_high),
        ])
    }
}

/// An element as a vector.
///
/// # Safety
/// As of [`of_eight`].
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn element<const N: usize>(at: *const u8) -> core::arch::x86_64::__m128i {
    use core::arch::x86_64::*;
    // SAFETY: the caller's contract; every processor of the architecture has these instructions.
    unsafe {
        let word = |i: usize| _mm_cvtsi32_si128(at.cast::<i32>().add(i).read_unaligned());
        match N {
            1 => word(0),
            2 => _mm_loadl_epi64(at.cast()),
            3 => _mm_unpacklo_epi64(_mm_loadl_epi64(at.cast()), word(2)),
            _ => _mm_loadu_si128(at.cast()),
        }
    }
}

/// The words of eight elements of `N` words (up to four), at any addresses.
///
/// # Safety
/// `N` words are readable at each address.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub unsafe fn of_eight<const N: usize>(at: [*const u8; 8]) -> [[u32; 8]; 4] {
    let mut words = [[0; 8]; 4];
    for (i, at) in at.into_iter().enumerate() {
        // SAFETY: the caller's contract.
        let element = unsafe { at.cast::<[u32; N]>().read_unaligned() };
        for (word, row) in element.into_iter().zip(&mut words) {
            row[i] = word;
        }
    }
    words
}
