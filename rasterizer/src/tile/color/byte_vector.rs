//! Vectors of bytes as blending needs them: of 256 bits, which are eight texels, and of 512 bits.
//!
//! A vector's value exists only on hosts that have its instructions: AVX2, or the level
//! [`Host::HAS_512`](base::host::Host::HAS_512). Unpacking, packing and shuffling work on parts of
//! 128 bits in both.

use core::arch::x86_64::*;

/// A vector of bytes, or of words of 16 bits. Its methods are called only on hosts that have the
/// vector's instructions.
pub trait ByteVector: Copy {
    /// Returns a vector with `word` in all lanes of 32 bits.
    fn splat(word: u32) -> Self;
    /// Returns the exclusive or.
    fn xor(self, other: Self) -> Self;
    /// Returns the smaller of each two bytes.
    fn min(self, other: Self) -> Self;
    /// Returns the greater of each two bytes.
    fn max(self, other: Self) -> Self;
    /// Returns the sums of bytes, saturated to 255.
    fn add_bytes(self, other: Self) -> Self;
    /// Returns the lower bytes of each 128 bits as words.
    fn low(self) -> Self;
    /// Returns the upper bytes of each 128 bits as words.
    fn high(self) -> Self;
    /// Packs words that [`ByteVector::low`] and [`ByteVector::high`] returned into bytes.
    fn bytes(low: Self, high: Self) -> Self;
    /// Returns the products of words.
    fn mul(self, other: Self) -> Self;
    /// Returns the sums of words, saturated to 65535.
    fn add(self, other: Self) -> Self;
    /// Returns the differences of words, saturated to 0.
    fn sub(self, other: Self) -> Self;
    /// Returns the upper bytes of words.
    fn upper(self) -> Self;
    /// Returns each texel's fourth byte in all four bytes.
    fn alpha(self) -> Self;
    /// Returns the first three bytes of each texel of this vector, and the fourth of the other.
    fn with_alpha(self, other: Self) -> Self;
}

/// Defines methods that are one expression of intrinsics each.
macro_rules! instructions {
    ($($name:ident($($arg:ident),*) $value:expr;)*) => {$(
        #[inline(always)]
        fn $name($($arg: Self),*) -> Self {
            // SAFETY: the host has the vector's instructions, which the trait requires for all its
            // methods.
            unsafe { $value }
        }
    )*};
    (self: $($name:ident($self:ident $(, $arg:ident)*) $value:expr;)*) => {$(
        #[inline(always)]
        fn $name($self $(, $arg: Self)*) -> Self {
            // SAFETY: the host has the vector's instructions, which the trait requires for all its
            // methods.
            unsafe { $value }
        }
    )*};
}

/// Returns the byte shuffle of [`ByteVector::alpha`] for four texels.
#[inline(always)]
fn alphas() -> __m128i {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { _mm_setr_epi8(3, 3, 3, 3, 7, 7, 7, 7, 11, 11, 11, 11, 15, 15, 15, 15) }
}

impl ByteVector for __m256i {
    #[inline(always)]
    fn splat(word: u32) -> Self {
        // SAFETY: the host has the vector's instructions, which the trait requires for all its
        // methods.
        unsafe { _mm256_set1_epi32(word as i32) }
    }
    instructions! {
        bytes(low, high) _mm256_packus_epi16(low, high);
    }
    instructions! { self:
        xor(self, other) _mm256_xor_si256(self, other);
        min(self, other) _mm256_min_epu8(self, other);
        max(self, other) _mm256_max_epu8(self, other);
        add_bytes(self, other) _mm256_adds_epu8(self, other);
        low(self) _mm256_unpacklo_epi8(self, _mm256_setzero_si256());
        high(self) _mm256_unpackhi_epi8(self, _mm256_setzero_si256());
        mul(self, other) _mm256_mullo_epi16(self, other);
        add(self, other) _mm256_adds_epu16(self, other);
        sub(self, other) _mm256_subs_epu16(self, other);
        upper(self) _mm256_srli_epi16::<8>(self);
        alpha(self) _mm256_shuffle_epi8(self, _mm256_broadcastsi128_si256(alphas()));
        with_alpha(self, other) _mm256_blendv_epi8(self, other, _mm256_set1_epi32(255 << 24));
    }
}

impl ByteVector for __m512i {
    #[inline(always)]
    fn splat(word: u32) -> Self {
        // SAFETY: the host has the vector's instructions, which the trait requires for all its
        // methods.
        unsafe { _mm512_set1_epi32(word as i32) }
    }
    instructions! {
        bytes(low, high) _mm512_packus_epi16(low, high);
    }
    instructions! { self:
        xor(self, other) _mm512_xor_si512(self, other);
        min(self, other) _mm512_min_epu8(self, other);
        max(self, other) _mm512_max_epu8(self, other);
        add_bytes(self, other) _mm512_adds_epu8(self, other);
        low(self) _mm512_unpacklo_epi8(self, _mm512_setzero_si512());
        high(self) _mm512_unpackhi_epi8(self, _mm512_setzero_si512());
        mul(self, other) _mm512_mullo_epi16(self, other);
        add(self, other) _mm512_adds_epu16(self, other);
        sub(self, other) _mm512_subs_epu16(self, other);
        upper(self) _mm512_srli_epi16::<8>(self);
        alpha(self) _mm512_shuffle_epi8(self, _mm512_broadcast_i32x4(alphas()));
        with_alpha(self, other) _mm512_mask_mov_epi8(self, 0x8888_8888_8888_8888, other);
    }
}
