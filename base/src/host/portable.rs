//! Vectors as arrays, for every processor; the other implementations must give the same results.

#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::vector::{Floats, Ints};
use crate::abi::MAX_LANES;
use crate::fused::FusedMulAdd;
use core::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Sub};

/// A vector of integers.
#[derive(Clone, Copy)]
pub struct U32x8([u32; MAX_LANES]);

/// A vector of floats.
#[derive(Clone, Copy)]
pub struct F32x8([f32; MAX_LANES]);

macro_rules! operators {
    ($($of:ident: $trait:ident $name:ident($a:ident, $b:ident) $value:expr;)*) => {$(
        impl $trait for $of {
            type Output = Self;
            #[inline(always)]
            fn $name(self, other: Self) -> Self {
                let mut out = self;
                for i in 0..MAX_LANES {
                    let ($a, $b) = (self.0[i], other.0[i]);
                    out.0[i] = $value;
                }
                out
            }
        }
    )*};
}

operators! {
    U32x8: Add add(a, b) a.wrapping_add(b);
    U32x8: Sub sub(a, b) a.wrapping_sub(b);
    U32x8: Mul mul(a, b) a.wrapping_mul(b);
    U32x8: BitAnd bitand(a, b) a & b;
    U32x8: BitOr bitor(a, b) a | b;
    U32x8: BitXor bitxor(a, b) a ^ b;
    F32x8: Add add(a, b) a + b;
    F32x8: Sub sub(a, b) a - b;
    F32x8: Mul mul(a, b) a * b;
    F32x8: Div div(a, b) a / b;
}

const fn ones(yes: bool) -> u32 {
    if yes { u32::MAX } else { 0 }
}

/// Applies one operation to all lanes.
macro_rules! lanes {
    ($to:ident, ($($lane:ident = $from:expr),*) $value:expr) => {{
        let mut out = [Default::default(); MAX_LANES];
        for i in 0..MAX_LANES {
            $(let $lane = $from.0[i];)*
            out[i] = $value;
        }
        $to(out)
    }};
}

impl Ints for U32x8 {
    type Floats = F32x8;

    #[inline(always)]
    fn splat(value: u32) -> Self {
        U32x8([value; MAX_LANES])
    }
    #[inline(always)]
    fn from_array(lanes: [u32; MAX_LANES]) -> Self {
        U32x8(lanes)
    }
    #[inline(always)]
    fn to_array(self) -> [u32; MAX_LANES] {
        self.0
    }
    #[inline(always)]
    fn shl(self, by: u32) -> Self {
        lanes!(U32x8, (a = self) a << by)
    }
    #[inline(always)]
    fn shr(self, by: u32) -> Self {
        lanes!(U32x8, (a = self) a >> by)
    }
    #[inline(always)]
    fn sar(self, by: u32) -> Self {
        lanes!(U32x8, (a = self)(a as i32 >> by) as u32)
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        lanes!(U32x8, (a = self, b = other)(a as i32).min(b as i32) as u32)
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        lanes!(U32x8, (a = self, b = other)(a as i32).max(b as i32) as u32)
    }
    #[inline(always)]
    fn min_unsigned(self, other: Self) -> Self {
        lanes!(U32x8, (a = self, b = other) a.min(b))
    }
    #[inline(always)]
    fn equal(self, other: Self) -> Self {
        lanes!(U32x8, (a = self, b = other) ones(a == b))
    }
    #[inline(always)]
    fn greater(self, other: Self) -> Self {
        lanes!(U32x8, (a = self, b = other) ones(a as i32 > b as i32))
    }
    #[inline(always)]
    fn select(self, yes: Self, no: Self) -> Self {
        lanes!(U32x8, (a = self, yes = yes, no = no) yes & a | no & !a)
    }
    #[inline(always)]
    fn min_of_quad(self) -> Self {
        let mut out = self;
        for i in 0..MAX_LANES {
            for other in 1..4 {
                out.0[i] = (out.0[i] as i32).min(self.0[i ^ other] as i32) as u32;
            }
        }
        out
    }
    #[inline(always)]
    fn broadcast_lane(self, at: u32) -> Self {
        U32x8([self.0[at as usize % MAX_LANES]; MAX_LANES])
    }
    #[inline(always)]
    fn shuffle_in_quad(self, at: Self) -> Self {
        let mut out = self;
        for i in 0..MAX_LANES {
            out.0[i] = self.0[i & !3 | at.0[i] as usize & 3];
        }
        out
    }
    #[inline(always)]
    fn shuffle_bytes(self, at: Self) -> Self {
        let mut out = self.shuffle_in_quad(at.shr(2));
        for i in 0..MAX_LANES {
            out.0[i] = out.0[i] >> (8 * (at.0[i] & 3)) & 0xff;
        }
        out
    }
    #[inline(always)]
    fn unzip(self, other: Self) -> [Self; 2] {
        let ([a, b, c, d, e, f, g, h], [i, j, k, l, m, n, o, p]) = (self.0, other.0);
        [U32x8([a, c, i, k, e, g, m, o]), U32x8([b, d, j, l, f, h, n, p])]
    }
    #[inline(always)]
    fn movemask(self) -> u32 {
        let mut signs = 0;
        for i in 0..MAX_LANES {
            signs |= self.0[i] >> 31 << i;
        }
        signs
    }
    #[inline(always)]
    fn to_floats(self) -> F32x8 {
        lanes!(F32x8, (a = self) a as i32 as f32)
    }
    #[inline(always)]
    fn as_floats(self) -> F32x8 {
        lanes!(F32x8, (a = self) f32::from_bits(a))
    }
    #[inline(always)]
    fn lookup(self, table: &[u32; 256]) -> Self {
        lanes!(U32x8, (a = self) table[(a & 255) as usize])
    }
    #[inline(always)]
    fn lookup_in<const N: usize>(self, table: &[u32; N]) -> Self {
        lanes!(U32x8, (a = self) table[(a as usize).min(N - 1)])
    }
}

impl Floats for F32x8 {
    type Ints = U32x8;

    #[inline(always)]
    fn splat(value: f32) -> Self {
        F32x8([value; MAX_LANES])
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        lanes!(F32x8, (a = self, b = other) if a < b { a } else { b })
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        lanes!(F32x8, (a = self, b = other) if a > b { a } else { b })
    }
    #[inline(always)]
    fn floor(self) -> Self {
        lanes!(F32x8, (a = self) a.floor())
    }
    #[inline(always)]
    fn ceil(self) -> Self {
        lanes!(F32x8, (a = self) a.ceil())
    }
    #[inline(always)]
    fn round(self) -> Self {
        lanes!(F32x8, (a = self) a.round_ties_even())
    }
    #[inline(always)]
    fn mul_add(self, by: Self, and: Self) -> Self {
        lanes!(F32x8, (a = self, b = by, c = and) a.fused_mul_add(b, c))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        lanes!(F32x8, (a = self) a.sqrt())
    }
    #[inline(always)]
    fn greater(self, other: Self) -> U32x8 {
        lanes!(U32x8, (a = self, b = other) ones(a > b))
    }
    #[inline(always)]
    fn greater_or_equal(self, other: Self) -> U32x8 {
        lanes!(U32x8, (a = self, b = other) ones(a >= b))
    }
    #[inline(always)]
    fn truncate_to_int(self) -> U32x8 {
        lanes!(U32x8, (a = self) a as i32 as u32)
    }
    #[inline(always)]
    fn bits(self) -> U32x8 {
        lanes!(U32x8, (a = self) a.to_bits())
    }
    #[inline(always)]
    fn broadcast_in_quad<const N: i32>(self) -> Self {
        let mut out = self;
        for i in 0..MAX_LANES {
            out.0[i] = self.0[i & !3 | N as usize & 3];
        }
        out
    }
}
