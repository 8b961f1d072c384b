//! Eight lanes as one value: what kernels compute with where arrays of lanes would not stay vectors.
//!
//! An array of lanes that is joined behind a branch, or carried around a loop, becomes a register per lane; a value of these types stays one
//! vector (or two halves of one) whatever happens to it. They are made and used in functions of their level only ([`compiled!`](crate::compiled)).
//!
//! Their operations are the processor's, in every level with the same bits:
//! comparisons give all ones or 0 in each lane, [`Floats::min`] and [`Floats::max`] give the second operand where one is not a number.

#![forbid(unsafe_code)]

use crate::abi::MAX_LANES;
use core::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Sub};

/// 32 bits per lane.
pub trait Ints:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
{
    /// The same lanes as floats.
    type Floats: Floats<Ints = Self>;
    /// All lanes the same.
    fn splat(value: u32) -> Self;
    /// From an array.
    fn of(lanes: [u32; MAX_LANES]) -> Self;
    /// As an array.
    fn lanes(self) -> [u32; MAX_LANES];
    /// Shifted left; all shifts are by less than 32, and best by constants.
    fn shl(self, by: u32) -> Self;
    /// Shifted right, zeros coming in.
    fn shr(self, by: u32) -> Self;
    /// Shifted right, signs coming in.
    fn sar(self, by: u32) -> Self;
    /// The lesser, as signed numbers.
    fn min(self, other: Self) -> Self;
    /// The greater, as signed numbers.
    fn max(self, other: Self) -> Self;
    /// All ones where equal.
    fn equal(self, other: Self) -> Self;
    /// All ones where greater, as signed numbers.
    fn greater(self, other: Self) -> Self;
    /// `yes` in the lanes of `self` that are all ones, `no` in those that are 0.
    fn select(self, yes: Self, no: Self) -> Self;
    /// The least of each four lanes, as signed numbers, in all four.
    fn least_of_quad(self) -> Self;
    /// Lane `at & 7` in all lanes.
    fn of_lane(self, at: u32) -> Self;
    /// Of each four lanes lane `at & 3`.
    fn pick(self, at: Self) -> Self;
    /// Of the sixteen bytes of each four lanes byte `at`, which is below 16 (of others: anything).
    fn pick_byte(self, at: Self) -> Self;
    /// Of each four lanes of both: the even ones of this and of the other one, and the odd ones.
    fn unzip(self, other: Self) -> [Self; 2];
    /// The lanes' uppermost bits.
    fn signs(self) -> u32;
    /// The numbers, signed, as floats.
    fn to_floats(self) -> Self::Floats;
    /// The bits, as floats.
    fn as_floats(self) -> Self::Floats;
    /// `table[lane & 255]`.
    fn look_up(self, table: &[u32; 256]) -> Self;
    /// `table[lane]`; the last entry for lanes beyond it.
    fn look_up_in<const N: usize>(self, table: &[u32; N]) -> Self;

    /// [`half_to_f32`](crate::format::float::half_to_f32) of all lanes, whose upper halves are 0.
    #[inline(always)]
    fn half(self) -> Self {
        let sign = (self & Self::splat(0x8000)).shl(16);
        let magnitude = self & Self::splat(0x7fff);
        let shifted = magnitude.shl(13);
        let normal = shifted + Self::splat(112 << 23);
        let least = Self::splat(0x3880_0000);
        let denormal = ((least | shifted).as_floats() - least.as_floats()).bits();
        let special = shifted | Self::splat(0x7f80_0000);
        let finite = Self::splat(0x400).greater(magnitude).select(denormal, normal);
        sign | magnitude.greater(Self::splat(0x7bff)).select(special, finite)
    }

    /// The floats whose binary16 the lower and the upper halves of the lanes are; what is not a number may become quiet.
    #[inline(always)]
    fn halves(self) -> [Self; 2] {
        [(self & Self::splat(0xffff)).half(), self.shr(16).half()]
    }

    /// Is no half of a lane, as a binary16, not a number?
    #[inline(always)]
    fn halves_are_numbers(self) -> bool {
        let lower = (self & Self::splat(0x7fff)).greater(Self::splat(0x7c00));
        let upper = (self & Self::splat(0x7fff_0000)).greater(Self::splat(0x7c00_0000));
        (lower | upper).signs() == 0
    }

    /// The lanes in `mask`, all ones; the others 0.
    #[inline(always)]
    fn spread(mask: u32) -> Self {
        let bits = Self::of([1, 2, 4, 8, 16, 32, 64, 128]);
        (Self::splat(mask) & bits).equal(bits)
    }
}

/// A float per lane.
pub trait Floats: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> {
    /// The same lanes as integers.
    type Ints: Ints<Floats = Self>;
    /// All lanes the same.
    fn splat(value: f32) -> Self;
    /// `if self < other { self } else { other }`.
    fn min(self, other: Self) -> Self;
    /// `if self > other { self } else { other }`.
    fn max(self, other: Self) -> Self;
    /// `self * by + and`, with one rounding.
    fn fused(self, by: Self, and: Self) -> Self;
    /// `self * by + and` where the product is exact, so that one rounding and two are the same.
    #[inline(always)]
    fn exact_product_plus(self, by: Self, and: Self) -> Self {
        self * by + and
    }
    /// The integer below.
    fn floor(self) -> Self;
    /// The integer above.
    fn ceil(self) -> Self;
    /// The nearest integer, of two the even one.
    fn round(self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// All ones where greater.
    fn greater(self, other: Self) -> Self::Ints;
    /// All ones where greater or equal.
    fn not_less(self, other: Self) -> Self::Ints;
    /// Cut off to an integer; of numbers that have none, some integer.
    fn truncate(self) -> Self::Ints;
    /// The bits.
    fn bits(self) -> Self::Ints;
    /// Lane `N` of each four lanes, in all four.
    fn of_quad<const N: i32>(self) -> Self;
    /// `self / 255.0`, for 0 and what is positive and not above 2^100.
    #[inline(always)]
    fn over_255(self) -> Self {
        self / Self::splat(255.0)
    }
}
