//! Writes that go past the caches: of lines that are written whole nobody reads the old bytes, and what is used again soon stays where it is.

/// Writes words (a multiple of four), 16 bytes each at an address that they divide; other threads see them behind [`settle`].
///
/// # Safety
/// The memory is writable, and nobody else uses it until then.
#[inline(always)]
pub unsafe fn write<const N: usize>(to: *mut u8, words: [u32; N]) {
    for (i, quarter) in words.as_chunks::<4>().0.iter().enumerate() {
        let to = to.wrapping_add(16 * i);
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the caller's contract; every processor of the architecture has it.
        unsafe {
            use core::arch::x86_64::{_mm_loadu_si128, _mm_stream_si128};
            _mm_stream_si128(to.cast(), _mm_loadu_si128(quarter.as_ptr().cast()));
        }
        #[cfg(not(target_arch = "x86_64"))]
        // SAFETY: the caller's contract.
        unsafe {
            to.cast::<[u32; 4]>().write(*quarter);
        }
    }
}

/// Orders such writes of this thread before all that it does next.
#[inline(always)]
pub fn settle() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: no access; every processor of the architecture has it.
    unsafe {
        core::arch::x86_64::_mm_sfence();
    }
}
