//! The sRGB transfer functions for 8-bit channels, exactly rounded.
//!
//! Decoding is a table of 256 correctly rounded f32. Encoding finds the code whose interval holds
//! the value: the 255 thresholds are the linear values of the codes' midpoints. Both tables are
//! computed at compile time (constant evaluation is the same on every host) with a fifth root by
//! Newton's method in f64, so no `pow` is involved.

#![forbid(unsafe_code)]

use crate::host::{Floats, Ints};

/// Converts sRGB to linear, for an encoded value in 0..=1, to f64 accuracy.
pub(super) const fn linear(encoded: f64) -> f64 {
    if encoded <= 0.04045 {
        return encoded / 12.92;
    }
    // The power b^2.4 is b^2 * (b^2)^(1/5).
    let b = (encoded + 0.055) / 1.055;
    let square = b * b;
    let mut root = 1.0;
    let mut i = 0;
    while i < 30 {
        let r4 = root * root * root * root;
        root -= (r4 * root - square) / (5.0 * r4);
        i += 1;
    }
    square * root
}

const fn decode(code: usize) -> u32 {
    (linear(code as f64 / 255.0) as f32).to_bits()
}

const fn decode_table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut code = 0;
    while code < 256 {
        table[code] = decode(code);
        code += 1;
    }
    table
}

/// Returns the thresholds: `THRESHOLD[k]` is the least f32 that encodes to more than `k`.
const fn thresholds() -> [f32; 257] {
    let mut table = [f32::INFINITY; 257];
    let mut code = 0;
    while code < 255 {
        let exact = linear((code as f64 + 0.5) / 255.0);
        let near = exact as f32;
        table[code] = if (near as f64) < exact { f32::from_bits(near.to_bits() + 1) } else { near };
        code += 1;
    }
    table
}

/// Number of mantissa bits that choose a bucket.
const BUCKET_BITS: u32 = 7;
/// Bits of the least value with a bucket, 2^-13, which is below the first threshold (2^-12.7).
const FIRST: u32 = (127 - 13) << 23;
const BUCKETS: usize = 13 << BUCKET_BITS;

/// Returns, for each bucket, the code of its least value, shifted by 17, and the position in the
/// bucket (in its 2^16 values) at which the next code begins. The position is 2^16 if that is in a
/// later bucket. A bucket holds at most one threshold (checked below).
const fn buckets() -> [u32; BUCKETS] {
    const VALUES: u32 = 1 << (23 - BUCKET_BITS);
    let mut table = [0; BUCKETS];
    let mut code = 0;
    let mut i = 0;
    while i < BUCKETS {
        let min = FIRST + i as u32 * VALUES;
        while THRESHOLD[code].to_bits() <= min {
            code += 1;
        }
        let next = THRESHOLD[code].to_bits() - min;
        table[i] = (code as u32) << 17 | if next < VALUES { next } else { VALUES };
        assert!(THRESHOLD[code + 1].to_bits() - min >= VALUES);
        i += 1;
    }
    table
}

/// Linear values of the codes, as bits.
pub(super) static DECODE: [u32; 256] = decode_table();
/// Linear values of the codes, byte by byte.
#[cfg(target_arch = "x86_64")]
pub(super) static DECODE_BYTES: DecodeBytes = byte_by_byte(decode_table());
/// The type of [`DECODE_BYTES`]; a vector of 512 bits holds a quarter of a table.
#[cfg(target_arch = "x86_64")]
#[repr(align(64))]
pub(super) struct DecodeBytes(pub [[u8; 256]; 4]);
pub(super) const THRESHOLD: [f32; 257] = thresholds();
static BUCKET: [u32; BUCKETS] = buckets();

/// [`THRESHOLD`] in the form of [`DECODE_BYTES`].
#[cfg(target_arch = "x86_64")]
pub(super) static THRESHOLD_BYTES: DecodeBytes = {
    let mut bits = [0; 256];
    let mut code = 0;
    while code < 256 {
        bits[code] = THRESHOLD[code].to_bits();
        code += 1;
    }
    byte_by_byte(bits)
};

/// Separates words into tables of bytes: the lowest bytes of all codes, then the next.
#[cfg(target_arch = "x86_64")]
const fn byte_by_byte(words: [u32; 256]) -> DecodeBytes {
    let mut bytes = DecodeBytes([[0; 256]; 4]);
    let mut code = 0;
    while code < 256 {
        let value = words[code].to_le_bytes();
        let mut i = 0;
        while i < 4 {
            bytes.0[i][code] = value[i];
            i += 1;
        }
        code += 1;
    }
    bytes
}

/// Bits of the least value for which [`ESTIMATE`] is valid, and the number of bits below those that
/// number its segments; the values end at 1.
#[cfg(target_arch = "x86_64")]
pub(super) const SEGMENTS: (u32, u32) = (FIRST, 22);
/// Parabolas near the encoded values (in codes) less a quarter:
/// `[0][i] + x * ([1][i] + x * [2][i])` for the `x` of half an octave each. The error is less than
/// a quarter: rounded, they give the nearest code, or the one before.
#[cfg(target_arch = "x86_64")]
pub(super) static ESTIMATE: [[f32; 32]; 3] = {
    let mut table = [[0.0; 32]; 3];
    let mut i = 0;
    while i < 26 {
        let min = f32::from_bits(SEGMENTS.0 + ((i as u32) << SEGMENTS.1)) as f64;
        let end = f32::from_bits(SEGMENTS.0 + ((i as u32 + 1) << SEGMENTS.1)) as f64;
        // The parabola goes through three points (Chebyshev's).
        let (middle, away) = ((min + end) * 0.5, (end - min) * 0.433_012_7);
        let (x, z) = (middle - away, middle + away);
        let (fx, fy, fz) = (encoded(x), encoded(middle), encoded(z));
        let (first, second) = ((fy - fx) / (middle - x), (fz - fy) / (z - middle));
        let square = (second - first) / (z - x);
        table[0][i] = (fx - first * x + square * x * middle - 0.25) as f32;
        table[1][i] = (first - square * (x + middle)) as f32;
        table[2][i] = square as f32;
        i += 1;
    }
    table
};

/// Converts linear to sRGB, in codes; it is the inverse of [`linear`], found by bisection.
#[cfg(target_arch = "x86_64")]
const fn encoded(x: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    let mut i = 0;
    while i < 40 {
        let middle = (low + high) * 0.5;
        if linear(middle) <= x {
            low = middle;
        } else {
            high = middle;
        }
        i += 1;
    }
    low * 255.0
}

/// Returns the linear value of an sRGB code.
#[inline(always)]
pub fn srgb_to_linear(code: u8) -> f32 {
    f32::from_bits(DECODE[code as usize])
}

/// Returns the nearest sRGB code of a linear value; NaN and negative values give 0.
#[inline(always)]
pub fn linear_to_srgb(x: f32) -> u8 {
    // The largest f32 below 1 encodes to 255, as 1 does. Not-a-number becomes the lower bound.
    let x = if x > f32::from_bits(FIRST) { x } else { f32::from_bits(FIRST) };
    let x = if x < 1f32.next_down() { x } else { 1f32.next_down() };
    let at = x.to_bits() - FIRST;
    let entry = BUCKET[(at >> (23 - BUCKET_BITS)) as usize % BUCKETS];
    let within = at & ((1 << (23 - BUCKET_BITS)) - 1);
    (entry >> 17) as u8 + u8::from(within >= entry & 0x1_ffff)
}

/// Applies [`srgb_to_linear`] to the lowest bytes of all lanes.
#[inline(always)]
pub fn srgb_lanes_to_linear<I: Ints>(codes: I) -> I::Floats {
    codes.lookup(&DECODE).as_floats()
}

/// Applies [`linear_to_srgb`] to all lanes.
#[inline(always)]
pub fn linear_lanes_to_srgb<F: Floats>(x: F) -> F::Ints {
    let x = x.max(F::splat(f32::from_bits(FIRST))).min(F::splat(1f32.next_down()));
    let at = x.bits() - F::Ints::splat(FIRST);
    let entry = at.shr(23 - BUCKET_BITS).lookup_in(&BUCKET);
    let within = at & F::Ints::splat((1 << (23 - BUCKET_BITS)) - 1);
    // The comparison gives -1, so that one is added or not.
    let before = (entry & F::Ints::splat(0x1_ffff)).greater(within);
    entry.shr(17) + F::Ints::splat(1) + before
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Evaluates the specification's formula with the host's pow, for comparison only.
    fn encode_f64(x: f64) -> f64 {
        if x <= 0.0031308 { 12.92 * x } else { 1.055 * x.powf(1.0 / 2.4) - 0.055 }
    }

    #[test]
    fn codes_round_trip_and_thresholds_are_exact() {
        for code in 0..=255u8 {
            assert_eq!(linear_to_srgb(srgb_to_linear(code)), code);
            if code < 255 {
                let t = THRESHOLD[code as usize];
                assert_eq!(linear_to_srgb(t), code + 1);
                assert_eq!(linear_to_srgb(t.next_down()), code);
            }
        }
        for x in [f32::NAN, -1.0, f32::NEG_INFINITY, 0.0, 1e-30] {
            assert_eq!(linear_to_srgb(x), 0);
        }
        for x in [1.0, 2.0, f32::INFINITY] {
            assert_eq!(linear_to_srgb(x), 255);
        }
    }

    #[test]
    fn agrees_with_the_formula() {
        for bits in (0..1f32.to_bits()).step_by(4099) {
            let x = f32::from_bits(bits);
            let want = encode_f64(f64::from(x)) * 255.0;
            let got = f64::from(linear_to_srgb(x));
            assert!((want - got).abs() <= 0.5001, "{x} {want} {got}");
        }
    }
}
