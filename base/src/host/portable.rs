//! Vectors as arrays, for every processor; the other implementations must give the same results.

#![forbid(unsafe_code)]
#![allow(clippy::needless_range_loop, reason = "loops over lanes index several arrays of lanes")]

use super::vector::{Floats, Ints};
use crate::abi::MAX_LANES;
use core::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Sub};

/// A vector of integers.
#[derive(Clone, Copy)]
pub struct Words([u32; MAX_LANES]);

/// A vector of floats.
#[derive(Clone, Copy)]
pub struct Singles([f32; MAX_LANES]);

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
    Words: Add add(a, b) a.wrapping_add(b);
    Words: Sub sub(a, b) a.wrapping_sub(b);
    Words: Mul mul(a, b) a.wrapping_mul(b);
    Words: BitAnd bitand(a, b) a & b;
    Words: BitOr bitor(a, b) a | b;
    Words: BitXor bitxor(a, b) a ^ b;
    Singles: Add add(a, b) a + b;
    Singles: Sub sub(a, b) a - b;
    Singles: Mul mul(a, b) a * b;
    Singles: Div div(a, b) a / b;
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

impl Ints for Words {
    type Floats = Singles;

    #[inline(always)]
    fn splat(value: u32) -> Self {
        Words([value; MAX_LANES])
    }
    #[inline(always)]
    fn of(lanes: [u32; MAX_LANES]) -> Self {
        Words(lanes)
    }
    #[inline(always)]
    fn lanes(self) -> [u32; MAX_LANES] {
        self.0
    }
    #[inline(always)]
    fn shl(self, by: u32) -> Self {
        lanes!(Words, (a = self) a << by)
    }
    #[inline(always)]
    fn shr(self, by: u32) -> Self {
        lanes!(Words, (a = self) a >> by)
    }
    #[inline(always)]
    fn sar(self, by: u32) -> Self {
        lanes!(Words, (a = self)(a as i32 >> by) as u32)
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        lanes!(Words, (a = self, b = other)(a as i32).min(b as i32) as u32)
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        lanes!(Words, (a = self, b = other)(a as i32).max(b as i32) as u32)
    }
    #[inline(always)]
    fn equal(self, other: Self) -> Self {
        lanes!(Words, (a = self, b = other) ones(a == b))
    }
    #[inline(always)]
    fn greater(self, other: Self) -> Self {
        lanes!(Words, (a = self, b = other) ones(a as i32 > b as i32))
    }
    #[inline(always)]
    fn select(self, yes: Self, no: Self) -> Self {
        lanes!(Words, (a = self, yes = yes, no = no) yes & a | no & !a)
    }
    #[inline(always)]
    fn least_of_quad(self) -> Self {
        let mut out = self;
        for i in 0..MAX_LANES {
            for other in 1..4 {
                out.0[i] = (out.0[i] as i32).min(self.0[i ^ other] as i32) as u32;
            }
        }
        out
    }
    #[inline(always)]
    fn of_lane(self, at: u32) -> Self {
        Words([self.0[at as usize % MAX_LANES]; MAX_LANES])
    }
    #[inline(always)]
    fn pick(self, at: Self) -> Self {
        let mut out = self;
        for i in 0..MAX_LANES {
            out.0[i] = self.0[i & !3 | at.0[i] as usize & 3];
        }
        out
    }
    #[inline(always)]
    fn pick_byte(self, at: Self) -> Self {
        let mut out = self.pick(at.shr(2));
        for i in 0..MAX_LANES {
            out.0[i] = out.0[i] >> (8 * (at.0[i] & 3)) & 0xff;
        }
        out
    }
    #[inline(always)]
    fn unzip(self, other: Self) -> [Self; 2] {
        let ([a, b, c, d, e, f, g, h], [i, j, k, l, m, n, o, p]) = (self.0, other.0);
        [Words([a, c, i, k, e, g, m, o]), Words([b, d, j, l, f, h, n, p])]
    }
    #[inline(always)]
    fn signs(self) -> u32 {
        let mut signs = 0;
        for i in 0..MAX_LANES {
            signs |= self.0[i] >> 31 << i;
        }
        signs
    }
    #[inline(always)]
    fn to_floats(self) -> Singles {
        lanes!(Singles, (a = self) a as i32 as f32)
    }
    #[inline(always)]
    fn as_floats(self) -> Singles {
        lanes!(Singles, (a = self) f32::from_bits(a))
    }
    #[inline(always)]
    fn look_up(self, table: &[u32; 256]) -> Self {
        lanes!(Words, (a = self) table[(a & 255) as usize])
    }
    #[inline(always)]
    fn look_up_in<const N: usize>(self, table: &[u32; N]) -> Self {
        lanes!(Words, (a = self) table[(a as usize).min(N - 1)])
    }
}

impl Floats for Singles {
    type Ints = Words;

    #[inline(always)]
    fn splat(value: f32) -> Self {
        Singles([value; MAX_LANES])
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        lanes!(Singles, (a = self, b = other) if a < b { a } else { b })
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        lanes!(Singles, (a = self, b = other) if a > b { a } else { b })
    }
    #[inline(always)]
    fn floor(self) -> Self {
        lanes!(Singles, (a = self) a.floor())
    }
    #[inline(always)]
    fn ceil(self) -> Self {
        lanes!(Singles, (a = self) a.ceil())
    }
    #[inline(always)]
    fn round(self) -> Self {
        lanes!(Singles, (a = self) a.round_ties_even())
    }
    #[inline(always)]
    fn fused(self, by: Self, and: Self) -> Self {
        lanes!(Singles, (a = self, b = by, c = and) a.mul_add(b, c))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        lanes!(Singles, (a = self) a.sqrt())
    }
    #[inline(always)]
    fn greater(self, other: Self) -> Words {
        lanes!(Words, (a = self, b = other) ones(a > b))
    }
    #[inline(always)]
    fn not_less(self, other: Self) -> Words {
        lanes!(Words, (a = self, b = other) ones(a >= b))
    }
    #[inline(always)]
    fn truncate(self) -> Words {
        lanes!(Words, (a = self) a as i32 as u32)
    }
    #[inline(always)]
    fn bits(self) -> Words {
        lanes!(Words, (a = self) a.to_bits())
    }
    #[inline(always)]
    fn of_quad<const N: i32>(self) -> Self {
        let mut out = self;
        for i in 0..MAX_LANES {
            out.0[i] = self.0[i & !3 | N as usize & 3];
        }
        out
    }
}
