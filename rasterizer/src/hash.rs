//! Multiplicative hashing (Knuth): the upper bits of a product by 2^n / φ.

#![forbid(unsafe_code)]

/// The upper `bits` bits of the hash of a word.
#[inline(always)]
pub fn of_word(word: u32, bits: u32) -> usize {
    (word.wrapping_mul(0x9e37_79b1) >> (32 - bits)) as usize
}

/// The upper `bits` bits of the hash of 64 bits.
#[inline(always)]
pub fn of_wide(word: u64, bits: u32) -> usize {
    (word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits)) as usize
}
