//! Packing of half floats. (The compiler does not vectorize the steps of a whole texel by itself.)

#![forbid(unsafe_code)]

use base::format::lanes::to_half;
use base::host::Ints;

/// Returns the words of texels of `channels` halves (1, 2 or 4).
#[inline(always)]
pub fn pack<I: Ints>([r, g, b, a]: [I; 4], channels: usize) -> [I; 4] {
    let zero = I::splat(0);
    let word = |low: I, high: I| to_half(low) | to_half(high).shl(16);
    match channels {
        1 => [to_half(r), zero, zero, zero],
        2 => [word(r, g), zero, zero, zero],
        _ => [word(r, g), word(b, a), zero, zero],
    }
}
