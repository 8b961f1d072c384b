//! Fused multiply-add of scalars, with one rounding on every system.
//!
//! Without the processor's instruction, the method `mul_add` of the standard library calls the
//! system's C library. That of mingw-w64 rounds twice, so the crate libm is used on Windows.

#![forbid(unsafe_code)]

/// Numbers with a fused multiply-add.
pub trait FusedMulAdd {
    /// Returns `self * by + and`, rounded once.
    fn fused_mul_add(self, by: Self, and: Self) -> Self;
}

impl FusedMulAdd for f32 {
    #[inline(always)]
    fn fused_mul_add(self, by: f32, and: f32) -> f32 {
        #[cfg(not(windows))]
        return self.mul_add(by, and);
        #[cfg(windows)]
        return libm::fmaf(self, by, and);
    }
}

impl FusedMulAdd for f64 {
    #[inline(always)]
    fn fused_mul_add(self, by: f64, and: f64) -> f64 {
        #[cfg(not(windows))]
        return self.mul_add(by, and);
        #[cfg(windows)]
        return libm::fma(self, by, and);
    }
}

#[cfg(test)]
mod tests {
    use super::FusedMulAdd;

    /// The product lies in the middle of two numbers, and the addend decides the direction. A sum
    /// that is first rounded to a wider format lies in the middle too, and becomes the even one.
    #[test]
    fn sums_are_rounded_once() {
        let odd = 1.0 + f32::EPSILON;
        // 3 * (1 + 2^-23) = 3 + 3 * 2^-23, in the middle of 3 + 2 * 2^-23 and 3 + 4 * 2^-23.
        let (below, above) = (3.0 + 2.0 * f32::EPSILON, 3.0 + 4.0 * f32::EPSILON);
        let tiny = 2f32.powi(-100);
        assert_eq!(3f32.fused_mul_add(odd, tiny), above);
        assert_eq!(3f32.fused_mul_add(odd, -tiny), below);
        let odd = 1.0 + f64::EPSILON;
        let (below, above) = (3.0 + 2.0 * f64::EPSILON, 3.0 + 4.0 * f64::EPSILON);
        let tiny = 2f64.powi(-300);
        assert_eq!(3f64.fused_mul_add(odd, tiny), above);
        assert_eq!(3f64.fused_mul_add(odd, -tiny), below);
    }
}
