//! Rounding of floats that are not large to the nearest integer, ties to even. Each function adds a
//! number so large that no fraction is left. That needs no call on a host without a rounding
//! instruction, and gives the same bits everywhere.

#![forbid(unsafe_code)]

/// The number 1.5 · 2^23: its sum with any number below 2^22 in magnitude has an ulp of 1 and stays
/// in its binade.
const MAGIC_F32: f32 = 12_582_912.0;
/// The number 1.5 · 2^52, with the same property for 2^51.
const MAGIC_F64: f64 = 6_755_399_441_055_744.0;
/// The number 2^23, from which on all floats are integers.
const FIRST_INTEGRAL: f32 = 8_388_608.0;

/// Returns the nearest integer of `|x| < 2^22` in the low 22 bits; the bits above have no meaning.
#[inline(always)]
pub fn low_bits(x: f32) -> u32 {
    (x + MAGIC_F32).to_bits()
}

/// Returns the nearest integer of `|x| < 2^22`.
#[inline(always)]
pub fn f32_to_i32(x: f32) -> i32 {
    low_bits(x).wrapping_sub(MAGIC_F32.to_bits()) as i32
}

/// Returns the nearest integer of `|x| < 2^31`.
#[inline(always)]
pub fn f64_to_i32(x: f64) -> i32 {
    (x + MAGIC_F64).to_bits().wrapping_sub(MAGIC_F64.to_bits()) as i32
}

/// Returns the nearest integer of `|x| <= 2^23`, as a float.
#[inline(always)]
pub fn to_integral(x: f32) -> f32 {
    let large = FIRST_INTEGRAL.copysign(x);
    (x + large) - large
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_even() {
        for i in -40_000..=40_000 {
            for x in [i as f32 / 8.0, i as f32 / 7.0, i as f32 * 104.5] {
                let nearest = x.round_ties_even();
                if nearest.abs() < 4_194_304.0 {
                    assert_eq!(
                        (f32_to_i32(x), low_bits(x) & 0xff),
                        (nearest as i32, nearest as i32 as u32 & 0xff),
                        "{x}"
                    );
                }
                assert_eq!(to_integral(x), nearest, "{x}");
                let x = f64::from(x) * 500.25;
                assert_eq!(f64_to_i32(x), x.round_ties_even() as i32, "{x}");
            }
        }
        assert_eq!(
            [to_integral(-8_388_608.0), to_integral(8_388_608.0), to_integral(-0.0)],
            [-8_388_608.0, 8_388_608.0, 0.0]
        );
    }
}
