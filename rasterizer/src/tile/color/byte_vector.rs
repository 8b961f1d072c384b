//! Vectors of bytes as blending needs them: of 256 bits, which are eight texels, and of 512 bits.
//! They have the token of the level that has their instructions. Unpacking, packing and shuffling
//! work on parts of 128 bits in both.

#![forbid(unsafe_code)]

use base::host::{Avx2, Avx512};
use core::arch::x86_64::*;

/// A vector of bytes, or of words of 16 bits.
pub trait ByteVector: Copy {
    /// Returns a vector of the same kind with `word` in all lanes of 32 bits.
    fn splat(self, word: u32) -> Self;
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
    /// Packs words that [`ByteVector::low`] returned, and those of [`ByteVector::high`], into
    /// bytes.
    fn bytes(self, high: Self) -> Self;
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

/// A vector of 256 bits.
#[derive(Clone, Copy)]
pub struct Bytes256(pub Avx2, pub __m256i);

/// A vector of 512 bits.
#[derive(Clone, Copy)]
pub struct Bytes512(pub Avx512, pub __m512i);

/// Defines methods that are one expression of instructions each: of the token, of the vector, and
/// of the other one.
macro_rules! instructions {
    ($($name:ident($v:ident, $a:ident $(, $b:ident)?) $value:expr;)*) => {$(
        #[inline(always)]
        fn $name(self $(, $b: Self)?) -> Self {
            let Self($v, $a) = self;
            $(let $b = $b.1;)?
            Self($v, $value)
        }
    )*};
}

/// Returns the byte shuffle of [`ByteVector::alpha`] for four texels.
#[inline(always)]
fn alphas(v: Avx2) -> __m128i {
    v._mm_setr_epi8(3, 3, 3, 3, 7, 7, 7, 7, 11, 11, 11, 11, 15, 15, 15, 15)
}

impl ByteVector for Bytes256 {
    #[inline(always)]
    fn splat(self, word: u32) -> Self {
        Bytes256(self.0, self.0._mm256_set1_epi32(word as i32))
    }
    instructions! {
        bytes(v, low, high) v._mm256_packus_epi16(low, high);
        xor(v, a, b) v._mm256_xor_si256(a, b);
        min(v, a, b) v._mm256_min_epu8(a, b);
        max(v, a, b) v._mm256_max_epu8(a, b);
        add_bytes(v, a, b) v._mm256_adds_epu8(a, b);
        low(v, a) v._mm256_unpacklo_epi8(a, v._mm256_setzero_si256());
        high(v, a) v._mm256_unpackhi_epi8(a, v._mm256_setzero_si256());
        mul(v, a, b) v._mm256_mullo_epi16(a, b);
        add(v, a, b) v._mm256_adds_epu16(a, b);
        sub(v, a, b) v._mm256_subs_epu16(a, b);
        upper(v, a) v._mm256_srli_epi16::<8>(a);
        alpha(v, a) v._mm256_shuffle_epi8(a, v._mm256_broadcastsi128_si256(alphas(v)));
        with_alpha(v, a, b) v._mm256_blendv_epi8(a, b, v._mm256_set1_epi32(255 << 24));
    }
}

impl ByteVector for Bytes512 {
    #[inline(always)]
    fn splat(self, word: u32) -> Self {
        Bytes512(self.0, self.0._mm512_set1_epi32(word as i32))
    }
    instructions! {
        bytes(v, low, high) v._mm512_packus_epi16(low, high);
        xor(v, a, b) v._mm512_xor_si512(a, b);
        min(v, a, b) v._mm512_min_epu8(a, b);
        max(v, a, b) v._mm512_max_epu8(a, b);
        add_bytes(v, a, b) v._mm512_adds_epu8(a, b);
        low(v, a) v._mm512_unpacklo_epi8(a, v._mm512_setzero_si512());
        high(v, a) v._mm512_unpackhi_epi8(a, v._mm512_setzero_si512());
        mul(v, a, b) v._mm512_mullo_epi16(a, b);
        add(v, a, b) v._mm512_adds_epu16(a, b);
        sub(v, a, b) v._mm512_subs_epu16(a, b);
        upper(v, a) v._mm512_srli_epi16::<8>(a);
        alpha(v, a) v._mm512_shuffle_epi8(a, v._mm512_broadcast_i32x4(alphas(*v)));
        with_alpha(v, a, b) v._mm512_mask_mov_epi8(a, 0x8888_8888_8888_8888, b);
    }
}
