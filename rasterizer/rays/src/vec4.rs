//! Four lanes as one value, for triangles in fours and for the bounds of primitives.
//!
//! The operations are IEEE's, one rounding each, so every processor level gives the same bits. On
//! x86-64 a value is a vector of SSE2, which every processor has; elsewhere it is an array.

use core::ops::{Add, Div, Mul, Sub};

pub use lanes::F32x4;

/// Lanes that a comparison selects: all bits of a lane are equal.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Mask4(F32x4);

#[cfg(not(target_arch = "x86_64"))]
mod portable;
#[cfg(target_arch = "x86_64")]
mod sse;

#[cfg(not(target_arch = "x86_64"))]
use portable as lanes;
#[cfg(target_arch = "x86_64")]
use sse as lanes;

impl F32x4 {
    /// Returns a vector with `value` in all lanes.
    #[inline(always)]
    pub fn splat(value: f32) -> F32x4 {
        lanes::from_bits([value.to_bits(); 4])
    }
    /// Makes a vector of the bits of its lanes.
    #[inline(always)]
    pub fn from_bits(bits: [u32; 4]) -> F32x4 {
        lanes::from_bits(bits)
    }
    /// Returns the bits of the lanes.
    #[inline(always)]
    pub fn to_bits(self) -> [u32; 4] {
        lanes::to_bits(self)
    }
    /// Makes a vector of its lanes.
    #[inline(always)]
    pub fn from_array(values: [f32; 4]) -> F32x4 {
        lanes::from_bits(values.map(f32::to_bits))
    }
    /// Returns the lanes.
    #[inline(always)]
    pub fn to_array(self) -> [f32; 4] {
        lanes::to_bits(self).map(f32::from_bits)
    }
    /// Returns `if self < other { self } else { other }`.
    #[inline(always)]
    pub fn min(self, other: F32x4) -> F32x4 {
        lanes::min(self, other)
    }
    /// Returns `if self > other { self } else { other }`.
    #[inline(always)]
    pub fn max(self, other: F32x4) -> F32x4 {
        lanes::max(self, other)
    }
    /// Returns the magnitudes.
    #[inline(always)]
    pub fn abs(self) -> F32x4 {
        lanes::and_not(F32x4::splat(-0.0), self)
    }
    /// Returns zeros with the signs.
    #[inline(always)]
    pub fn sign(self) -> F32x4 {
        lanes::and(F32x4::splat(-0.0), self)
    }
    /// Returns the bits that one of both has.
    #[inline(always)]
    pub fn or(self, other: F32x4) -> F32x4 {
        lanes::or(self, other)
    }
    /// Selects the lanes that are equal.
    #[inline(always)]
    pub fn equal(self, other: F32x4) -> Mask4 {
        self.greater_or_equal(other).and(other.greater_or_equal(self))
    }
    /// Selects the lanes that are greater.
    #[inline(always)]
    pub fn greater(self, other: F32x4) -> Mask4 {
        Mask4(lanes::greater(self, other))
    }
    /// Selects the lanes that are greater or equal.
    #[inline(always)]
    pub fn greater_or_equal(self, other: F32x4) -> Mask4 {
        Mask4(lanes::greater_or_equal(self, other))
    }
    /// Returns the vectors of the lanes of the same number.
    #[inline(always)]
    pub fn transpose(rows: [F32x4; 4]) -> [F32x4; 4] {
        lanes::transpose(rows)
    }
    /// Returns the uppermost bits of the lanes.
    #[inline(always)]
    pub fn sign_bits(self) -> u32 {
        lanes::movemask(self)
    }
}

impl Mask4 {
    /// Selects the lanes that both select.
    #[inline(always)]
    pub fn and(self, other: Mask4) -> Mask4 {
        Mask4(lanes::and(self.0, other.0))
    }
    /// Selects the lanes that one of both selects.
    #[inline(always)]
    pub fn or(self, other: Mask4) -> Mask4 {
        Mask4(lanes::or(self.0, other.0))
    }
    /// Returns one bit per lane.
    #[inline(always)]
    pub fn bits(self) -> u32 {
        lanes::movemask(self.0)
    }
    /// Makes a mask that selects all lanes or none.
    #[inline(always)]
    pub fn splat(all: bool) -> Mask4 {
        Mask4(lanes::from_bits([if all { !0 } else { 0 }; 4]))
    }
    /// Returns `yes` in the selected lanes, and `no` in the others.
    #[inline(always)]
    pub fn select(self, yes: F32x4, no: F32x4) -> F32x4 {
        lanes::or(lanes::and(self.0, yes), lanes::and_not(self.0, no))
    }
}

macro_rules! operators {
    ($($trait:ident $name:ident;)*) => {$(
        impl $trait for F32x4 {
            type Output = F32x4;
            #[inline(always)]
            fn $name(self, other: F32x4) -> F32x4 {
                lanes::$name(self, other)
            }
        }
    )*};
}
operators! {
    Add add;
    Sub sub;
    Mul mul;
    Div div;
}
