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

#[cfg(target_arch = "x86_64")]
mod lanes {
    use core::arch::x86_64::*;

    /// A vector of four floats.
    #[derive(Clone, Copy)]
    #[repr(transparent)]
    pub struct F32x4(__m128);

    macro_rules! binary {
        ($($name:ident = $intrinsic:ident;)*) => {$(
            #[inline(always)]
            pub fn $name(a: F32x4, b: F32x4) -> F32x4 {
                // SAFETY: every x86-64 processor has SSE2.
                unsafe { F32x4($intrinsic(a.0, b.0)) }
            }
        )*};
    }
    binary! {
        add = _mm_add_ps;
        sub = _mm_sub_ps;
        mul = _mm_mul_ps;
        div = _mm_div_ps;
        min = _mm_min_ps;
        max = _mm_max_ps;
        and = _mm_and_ps;
        or = _mm_or_ps;
        and_not = _mm_andnot_ps;
        greater = _mm_cmpgt_ps;
        greater_or_equal = _mm_cmpge_ps;
    }

    #[inline(always)]
    pub fn from_bits(lanes: [u32; 4]) -> F32x4 {
        let [a, b, c, d] = lanes.map(|lane| lane as i32);
        // SAFETY: every x86-64 processor has SSE2.
        unsafe { F32x4(_mm_castsi128_ps(_mm_setr_epi32(a, b, c, d))) }
    }

    #[inline(always)]
    pub fn to_bits(v: F32x4) -> [u32; 4] {
        // SAFETY: both types have the same size, and any bits are valid.
        unsafe { core::mem::transmute(v.0) }
    }

    #[inline(always)]
    pub fn movemask(v: F32x4) -> u32 {
        // SAFETY: every x86-64 processor has SSE.
        unsafe { _mm_movemask_ps(v.0) as u32 }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod lanes {
    use core::array::from_fn;

    /// A vector of four floats.
    #[derive(Clone, Copy)]
    #[repr(transparent)]
    pub struct F32x4([f32; 4]);

    macro_rules! binary {
        ($($name:ident = |$a:ident, $b:ident| $value:expr;)*) => {$(
            #[inline(always)]
            pub fn $name(a: F32x4, b: F32x4) -> F32x4 {
                F32x4(from_fn(|i| {
                    let ($a, $b) = (a.0[i], b.0[i]);
                    $value
                }))
            }
        )*};
    }
    binary! {
        add = |a, b| a + b;
        sub = |a, b| a - b;
        mul = |a, b| a * b;
        div = |a, b| a / b;
        min = |a, b| if a < b { a } else { b };
        max = |a, b| if a > b { a } else { b };
        and = |a, b| f32::from_bits(a.to_bits() & b.to_bits());
        or = |a, b| f32::from_bits(a.to_bits() | b.to_bits());
        and_not = |a, b| f32::from_bits(!a.to_bits() & b.to_bits());
        greater = |a, b| f32::from_bits(if a > b { !0 } else { 0 });
        greater_or_equal = |a, b| f32::from_bits(if a >= b { !0 } else { 0 });
    }

    #[inline(always)]
    pub fn from_bits(lanes: [u32; 4]) -> F32x4 {
        F32x4(lanes.map(f32::from_bits))
    }

    #[inline(always)]
    pub fn to_bits(v: F32x4) -> [u32; 4] {
        v.0.map(f32::to_bits)
    }

    #[inline(always)]
    pub fn movemask(v: F32x4) -> u32 {
        (0..4).fold(0, |mask, i| mask | v.0[i].to_bits() >> 31 << i)
    }
}

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
