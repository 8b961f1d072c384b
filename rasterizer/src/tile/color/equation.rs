//! The blend equation, on N lanes at a time (structure of arrays), and the logic operations.

#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use base::host::Ints;
use base::pixel::{BlendEquations, BlendFactor, BlendOp, LogicOp};

/// Four components of N lanes as floats.
pub type ColorLanes<const N: usize> = [[f32; N]; 4];

/// Range to which sources and results of blending are clamped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clamp {
    /// The range 0..=1.
    Unorm,
    /// The range -1..=1.
    Snorm,
    /// Values are not clamped, because the format is a float format.
    None,
}

impl Clamp {
    /// Clamps a value; not-a-number becomes the lower bound.
    #[inline(always)]
    pub fn apply(self, v: f32) -> f32 {
        let between = |lo: f32, hi: f32| {
            let v = if v > lo { v } else { lo };
            if v < hi { v } else { hi }
        };
        match self {
            Clamp::Unorm => between(0.0, 1.0),
            Clamp::Snorm => between(-1.0, 1.0),
            Clamp::None => v,
        }
    }
}

/// Returns a colour clamped to the range.
#[inline(always)]
pub fn clamped<const N: usize>(clamp: Clamp, mut color: ColorLanes<N>) -> ColorLanes<N> {
    for row in &mut color {
        for v in row {
            *v = clamp.apply(*v);
        }
    }
    color
}

/// The operands of blending.
pub struct BlendOperands<'a, const N: usize> {
    /// First source: the fragment stage's colour output.
    pub s: &'a ColorLanes<N>,
    /// Second source.
    pub s1: &'a ColorLanes<N>,
    /// The attachment's colour.
    pub d: &'a ColorLanes<N>,
    /// Blend constants.
    pub constants: [f32; 4],
}

/// Returns the smaller number, or the other operand if one is a NaN. Of equal numbers it returns
/// `b`, so that the sign of a zero is the same everywhere (`f32::min` leaves it open).
#[inline(always)]
fn min_number(a: f32, b: f32) -> f32 {
    if a < b || b.is_nan() { a } else { b }
}

/// Returns the greater number; treats NaNs and equal numbers as [`min_number`] does.
#[inline(always)]
fn max_number(a: f32, b: f32) -> f32 {
    if a > b || b.is_nan() { a } else { b }
}

#[inline(always)]
fn one_minus<const N: usize>(v: &[f32; N]) -> [f32; N] {
    let mut out = [1.0; N];
    for i in 0..N {
        out[i] -= v[i];
    }
    out
}

impl<const N: usize> BlendOperands<'_, N> {
    /// Returns the blend factor of component `c`.
    #[inline(always)]
    fn factor(&self, factor: BlendFactor, c: usize) -> [f32; N] {
        match factor {
            BlendFactor::Zero => [0.0; N],
            BlendFactor::One => [1.0; N],
            BlendFactor::SrcColor => self.s[c],
            BlendFactor::OneMinusSrcColor => one_minus(&self.s[c]),
            BlendFactor::DstColor => self.d[c],
            BlendFactor::OneMinusDstColor => one_minus(&self.d[c]),
            BlendFactor::SrcAlpha => self.s[3],
            BlendFactor::OneMinusSrcAlpha => one_minus(&self.s[3]),
            BlendFactor::DstAlpha => self.d[3],
            BlendFactor::OneMinusDstAlpha => one_minus(&self.d[3]),
            BlendFactor::ConstantColor => [self.constants[c]; N],
            BlendFactor::OneMinusConstantColor => [1.0 - self.constants[c]; N],
            BlendFactor::ConstantAlpha => [self.constants[3]; N],
            BlendFactor::OneMinusConstantAlpha => [1.0 - self.constants[3]; N],
            BlendFactor::SrcAlphaSaturate if c == 3 => [1.0; N],
            BlendFactor::SrcAlphaSaturate => {
                let mut out = one_minus(&self.d[3]);
                for i in 0..N {
                    out[i] = min_number(self.s[3][i], out[i]);
                }
                out
            }
            BlendFactor::Src1Color => self.s1[c],
            BlendFactor::OneMinusSrc1Color => one_minus(&self.s1[c]),
            BlendFactor::Src1Alpha => self.s1[3],
            BlendFactor::OneMinusSrc1Alpha => one_minus(&self.s1[3]),
        }
    }

    /// Returns the blended colour.
    #[inline(always)]
    pub fn blend(&self, blend: &BlendEquations) -> ColorLanes<N> {
        let mut out = [[0.0; N]; 4];
        for c in 0..4 {
            let (src, dst, op) = if c == 3 { blend.alpha } else { blend.color };
            let (s, d) = (&self.s[c], &self.d[c]);
            let (fs, fd) = (self.factor(src, c), self.factor(dst, c));
            // The choice of operation is made outside of the loops over lanes, so that they become
            // vectors.
            macro_rules! each {
                ($f:expr) => {
                    for i in 0..N {
                        out[c][i] = $f(s[i], fs[i], d[i], fd[i]);
                    }
                };
            }
            match op {
                BlendOp::Add => each!(|s, fs, d, fd| s * fs + d * fd),
                BlendOp::Subtract => each!(|s, fs, d, fd| s * fs - d * fd),
                BlendOp::ReverseSubtract => each!(|s, fs, d, fd| d * fd - s * fs),
                BlendOp::Min => each!(|s, _, d, _| min_number(s, d)),
                BlendOp::Max => each!(|s, _, d, _| max_number(s, d)),
            }
        }
        out
    }
}

/// Applies a `VkLogicOp` to bits.
#[inline(always)]
pub fn logic<I: Ints>(op: LogicOp, s: I, d: I) -> I {
    let ones = I::splat(u32::MAX);
    match op {
        LogicOp::Clear => I::splat(0),
        LogicOp::And => s & d,
        LogicOp::AndReverse => s & (d ^ ones),
        LogicOp::Copy => s,
        LogicOp::AndInverted => (s ^ ones) & d,
        LogicOp::NoOp => d,
        LogicOp::Xor => s ^ d,
        LogicOp::Or => s | d,
        LogicOp::Nor => (s | d) ^ ones,
        LogicOp::Equivalent => s ^ d ^ ones,
        LogicOp::Invert => d ^ ones,
        LogicOp::OrReverse => s | (d ^ ones),
        LogicOp::CopyInverted => s ^ ones,
        LogicOp::OrInverted => (s ^ ones) | d,
        LogicOp::Nand => (s & d) ^ ones,
        LogicOp::Set => ones,
    }
}

#[cfg(test)]
mod tests {
    use super::{max_number, min_number};

    #[test]
    fn min_and_max_prefer_numbers_to_nans_and_the_second_of_equals() {
        for f in [min_number, max_number] {
            for (a, b, expected) in [
                (0.0, -0.0, -0.0f32),
                (-0.0, 0.0, 0.0),
                (f32::NAN, 2.0, 2.0),
                (2.0, f32::NAN, 2.0),
                (f32::NAN, -0.0, -0.0),
            ] {
                assert_eq!(f(a, b).to_bits(), expected.to_bits(), "{a} {b}");
            }
        }
        assert_eq!((min_number(-1.0, 1.0), min_number(1.0, -1.0)), (-1.0, -1.0));
        assert_eq!((max_number(-1.0, 1.0), max_number(1.0, -1.0)), (1.0, 1.0));
    }
}
