//! Non-temporal stores: the old bytes of lines that are written whole are not read, and data that
//! are used again soon stay in the caches.

/// Writes words (a multiple of four), 16 bytes at a time, to an address that is a multiple of 16.
/// Other threads may see them only after [`settle`].
///
/// # Safety
/// The memory is writable, and no other thread accesses it until [`settle`].
#[inline(always)]
pub unsafe fn store<const N: usize>(to: *mut u8, words: [u32; N]) {
    for (i, quarter) in words.as_chunks::<4>().0.iter().enumerate() {
        let to = to.wrapping_add(16 * i);
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the memory is writable (`# Safety`), and SSE2 is part of x86-64.
        unsafe {
            use core::arch::x86_64::{_mm_loadu_si128, _mm_stream_si128};
            _mm_stream_si128(to.cast(), _mm_loadu_si128(quarter.as_ptr().cast()));
        }
        #[cfg(not(target_arch = "x86_64"))]
        // SAFETY: the memory is writable (`# Safety`).
        unsafe {
            to.cast::<[u32; 4]>().write(*quarter);
        }
    }
}

/// Orders the non-temporal stores of this thread before all that it does next.
#[inline(always)]
pub fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the fence accesses no memory, and SSE is part of x86-64.
    unsafe {
        core::arch::x86_64::_mm_sfence();
    }
}
