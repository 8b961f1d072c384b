//! Types whose bytes have no meaning beyond their values: numbers, vectors, and arrays of them.

#[cfg(target_arch = "x86_64")]
use core::arch::x86_64::{__m128i, __m256i, __m512i};

/// A number, a vector, or an array of them: a type of which all bytes have a value, and whose value
/// may be any bytes.
///
/// # Safety
/// The type has no padding, and all bits are valid.
pub unsafe trait Plain: Copy {
    /// The value whose bytes are all 0.
    // SAFETY: all bits are valid.
    const ZERO: Self = unsafe { core::mem::zeroed() };
}

/// Marks types without padding of which all bits are valid.
macro_rules! plain {
    ($($ty:ty)*) => {$(
        // SAFETY: a number or a vector has no padding, and all bits are valid.
        unsafe impl Plain for $ty {}
    )*};
}
plain! { u8 i8 u16 i16 u32 i32 u64 i64 f32 }
#[cfg(target_arch = "x86_64")]
plain! { __m128i __m256i __m512i }

// SAFETY: an array has no padding between elements, and all bits of the elements are valid.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// Returns the words of which a value consists.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(super) fn words<T: Plain, const N: usize>(of: &T) -> [u32; N] {
    const { assert!(size_of::<T>() == 4 * N) };
    // SAFETY: both types have the same size, and any bits are valid.
    unsafe { core::ptr::from_ref(of).cast::<[u32; N]>().read_unaligned() }
}
