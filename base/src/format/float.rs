//! Conversions between f32 and the small floating-point encodings: half, unsigned 11 and 10 bits,
//! shared exponent.
//!
//! They use only integer arithmetic and exact f32 operations on normal numbers, so the results
//! depend neither on the host nor on its denormal flags. Rounding is to nearest even, except for
//! the shared exponent, whose formula the specification gives (section "Floating-Point Formats",
//! 14-bit shared exponent conversions).

#![forbid(unsafe_code)]

/// Returns a half-precision bit pattern as f32; exact. NaN payloads keep their upper bits.
///
/// All cases are computed and one is chosen, so that a loop over lanes becomes vectors.
#[inline(always)]
pub const fn half_to_f32(h: u32) -> f32 {
    let sign = (h & 0x8000) << 16;
    let magnitude = h & 0x7fff;
    let shifted = magnitude << 13;
    let normal = shifted + (112 << 23);
    // This is (1.m - 1) * 2^-14; for other exponents it is some number that is not chosen.
    let denormal = (f32::from_bits(0x3880_0000 | shifted) - f32::from_bits(0x3880_0000)).to_bits();
    let special = 0x7f80_0000 | shifted;
    let finite = if magnitude < 0x400 { denormal } else { normal };
    f32::from_bits(sign | if magnitude >= 0x7c00 { special } else { finite })
}

/// Returns the nearest half (ties to even). Overflow gives infinity, and NaN a quiet NaN. Like
/// [`half_to_f32`], it has no branches.
#[inline(always)]
pub const fn f32_to_half(x: f32) -> u32 {
    let bits = x.to_bits();
    let sign = (bits >> 16) & 0x8000;
    let magnitude = bits & 0x7fff_ffff;
    // Adding 0.5 leaves the denormal half in the low mantissa bits, rounded by the addition.
    let denormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
    let odd = (magnitude >> 13) & 1;
    let normal = magnitude.wrapping_sub((112 << 23) - 0xfff).wrapping_add(odd) >> 13;
    let finite = if magnitude < 0x3880_0000 { denormal } else { normal };
    let overflow = if magnitude > 0x7f80_0000 { 0x7e00 } else { 0x7c00 };
    sign | if magnitude >= 0x4780_0000 { overflow } else { finite }
}

/// Returns an unsigned float of 5 exponent bits and `mantissa` bits as f32; exact.
#[inline(always)]
pub const fn ufloat_to_f32(v: u32, mantissa: u32) -> f32 {
    half_to_f32(v << (10 - mantissa))
}

/// Returns the nearest unsigned float (ties to even). Negative values give 0, and finite overflow
/// gives the largest finite value.
#[inline(always)]
pub const fn f32_to_ufloat(x: f32, mantissa: u32) -> u32 {
    let bits = x.to_bits();
    let infinity = 31 << mantissa;
    let drop = 23 - mantissa;
    // The sum's lowest mantissa bit is the denormal's, 2^(-14 - mantissa), as for halves.
    let magic = (127 - 14 + drop) << 23;
    let denormal = (x + f32::from_bits(magic)).to_bits().wrapping_sub(magic);
    let odd = (bits >> drop) & 1;
    let normal = bits.wrapping_sub((112 << 23) - (1 << (drop - 1)) + 1).wrapping_add(odd) >> drop;
    let finite = if bits < 0x3880_0000 { denormal } else { normal };
    // This covers everything from 2^16 on, and values that round up to it; negative values look
    // larger still.
    let largest = infinity - 1;
    let finite = if bits >= 0x4780_0000 || finite > largest { largest } else { finite };
    let finite = if bits >> 31 != 0 { 0 } else { finite };
    let special = if bits == 0x7f80_0000 { infinity } else { finite };
    if (bits & 0x7fff_ffff) > 0x7f80_0000 { infinity | 1 } else { special }
}

/// Converts `E5B9G9R9_UFLOAT_PACK32` to r, g, b; exact.
#[inline(always)]
pub const fn unpack_shared_exponent(v: u32) -> [f32; 3] {
    // The scale is 2^(e - 15 - 9), between 2^-24 and 2^7, and always normal.
    let scale = f32::from_bits(((v >> 27) + 127 - 24) << 23);
    [(v & 511) as f32 * scale, (v >> 9 & 511) as f32 * scale, (v >> 18 & 511) as f32 * scale]
}

/// Implements the specification's conversion to `E5B9G9R9_UFLOAT_PACK32`.
#[inline(always)]
pub fn pack_shared_exponent(rgb: [f32; 3]) -> u32 {
    const MAX: f32 = 65408.0;
    // NaN counts as 0.
    let c = rgb.map(|x| if x > 0.0 { x.min(MAX) } else { 0.0 });
    let largest = c[0].max(c[1]).max(c[2]);
    let exponent = ((largest.to_bits() >> 23) as i32 - 127).max(-16) + 16;
    let quantise = |x: f32, e: i32| -> u32 {
        // This is floor(x / 2^(e - 24) + 0.5): the scale is a power of two, and the sum has at most
        // 10 integer bits.
        let scale = f64::from_bits(((1023 + 24 - e) as u64) << 52);
        (f64::from(x) * scale + 0.5) as u32
    };
    let e = if quantise(largest, exponent) == 512 { exponent + 1 } else { exponent };
    quantise(c[0], e) | quantise(c[1], e) << 9 | quantise(c[2], e) << 18 | (e as u32) << 27
}

/// Converts a value in 0..=1 to the nearest half, with ties to even.
pub(super) const fn fraction_to_half(x: f64) -> u16 {
    let exponent = (x.to_bits() >> 52) as i32 - 1023;
    // Halves below 2^-14 are denormal: all of them are multiples of 2^-24.
    let shift = if exponent < -14 { 24 } else { 10 - exponent };
    let scaled = x * f64::from_bits(((1023 + shift) as u64) << 52);
    let floor = scaled as u32;
    let rest = scaled - floor as f64;
    let rounded = floor + (rest > 0.5 || rest == 0.5 && floor & 1 == 1) as u32;
    // A normal number's leading one is part of `rounded`, and adds one to the exponent.
    if exponent < -14 { rounded as u16 } else { (((exponent + 14) << 10) as u32 + rounded) as u16 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_round_trips() {
        for h in 0..0x1_0000u32 {
            let f = half_to_f32(h);
            if f.is_nan() {
                assert_eq!(f32_to_half(f) & 0x7fff, 0x7e00, "{h:x}");
                continue;
            }
            assert_eq!(f32_to_half(f), h);
            let m = h & 0x3ff;
            let e = (h >> 10 & 31) as i32;
            if e < 31 {
                let exact = if e == 0 { m as f64 } else { (1024 + m) as f64 * 2f64.powi(e - 1) } * 2f64.powi(-24);
                assert_eq!(f64::from(f).abs(), exact);
            }
        }
    }

    #[test]
    fn half_rounds_to_nearest_even() {
        for h in 0..0x7bffu32 {
            let (a, b) = (half_to_f32(h), half_to_f32(h + 1));
            let middle = ((f64::from(a) + f64::from(b)) / 2.0) as f32;
            let even = if h & 1 == 0 { h } else { h + 1 };
            assert_eq!(f32_to_half(middle), even);
            assert_eq!(f32_to_half(middle.next_down()), h);
            assert_eq!(f32_to_half(middle.next_up()), h + 1);
        }
        assert_eq!(f32_to_half(65519.996), 0x7bff);
        assert_eq!(f32_to_half(65520.0), 0x7c00);
        assert_eq!(f32_to_half(f32::NEG_INFINITY), 0xfc00);
    }

    #[test]
    fn unsigned_floats_round_trip_and_round() {
        for mantissa in [6, 5] {
            let infinity = 31u32 << mantissa;
            for v in 0..=infinity {
                assert_eq!(f32_to_ufloat(ufloat_to_f32(v, mantissa), mantissa), v);
            }
            for v in 0..infinity - 1 {
                let middle = (ufloat_to_f32(v, mantissa) + ufloat_to_f32(v + 1, mantissa)) / 2.0;
                assert_eq!(f32_to_ufloat(middle, mantissa), if v & 1 == 0 { v } else { v + 1 });
                assert_eq!(f32_to_ufloat(middle.next_up(), mantissa), v + 1);
                assert_eq!(f32_to_ufloat(middle.next_down(), mantissa), v);
            }
            assert_eq!(f32_to_ufloat(-1.0, mantissa), 0);
            assert_eq!(f32_to_ufloat(1e9, mantissa), infinity - 1);
            assert!(ufloat_to_f32(f32_to_ufloat(f32::NAN, mantissa), mantissa).is_nan());
        }
    }

    #[test]
    fn shared_exponent_is_stable() {
        for v in (0..u32::MAX).step_by(65_521) {
            let rgb = unpack_shared_exponent(v);
            assert_eq!(unpack_shared_exponent(pack_shared_exponent(rgb)), rgb, "{v:x}");
        }
        assert_eq!(unpack_shared_exponent(pack_shared_exponent([1e9, -1.0, f32::NAN])), [65408.0, 0.0, 0.0]);
    }
}
